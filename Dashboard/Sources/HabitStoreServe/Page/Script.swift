/// Keeps the page live by replacing parts with those that the server sends. Without scripts, the page reloads itself.
enum Script {
    static let text = """
        "use strict";
        (() => {
          const look = document.getElementById("look");
          if (!look || !window.EventSource) { return; }
          const connect = () => {
            const source = new EventSource("/events");
            source.addEventListener("part", (event) => {
              const part = JSON.parse(event.data);
              const place = document.getElementById(part.id);
              if (place) { place.innerHTML = part.html; }
            });
            source.addEventListener("look", (event) => {
              look.textContent = "Live, as of " + event.data + ".";
              document.documentElement.dataset.live = "yes";
            });
            source.addEventListener("error", () => {
              document.documentElement.dataset.live = "no";
              look.textContent = "The connection is lost; this page may be out of date. Trying again …";
              // The browser gives up after a refusal: too many pages may be open.
              if (source.readyState === EventSource.CLOSED) { setTimeout(connect, 5000); }
            });
          };
          connect();
        })();
        """
}
