"""Drives habitstore-serve as a browser and as programs do: test.py BINARY PICTURES [CHROMIUM]

Fleets of 3 and of 100,000 users are written by fleet.py; their pages are looked at narrow and wide, light and dark, as pictures in
PICTURES, and a fleet is paused, resumed and killed by pressing buttons. Without Chromium the pictures and buttons are left out,
which is said.
"""
import contextlib
import fcntl
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from browser import Browser  # noqa: E402

TOKEN = "0123456789abcdef0123456789abcdef"


def check(holds, claim):
    if not holds:
        raise AssertionError(claim)
    print("  " + claim, flush=True)


class Server:
    """A server on a free port, for as long as the block."""

    def __init__(self, binary, root, *arguments, token=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HABITSTORE_")}
        if token:
            environment["HABITSTORE_TOKEN"] = token
        command = [binary, "--root", root, "--listen", "127.0.0.1:0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", line), line
        self.url, self.port = line, int(line.rsplit(":", 1)[1].rstrip("/"))
        self.token = token

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def ask(self, path, method="GET", body=None, knows=True, **headers):
        """The status, the heads and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        heads = {name.replace("_", "-"): value for name, value in headers.items()}
        if knows and self.token:
            heads.setdefault("Authorization", f"Bearer {self.token}")
        if isinstance(body, dict):
            body = urllib.parse.urlencode(body)
            heads.setdefault("Content-Type", "application/x-www-form-urlencoded")
        connection.request(method, path, body=body, headers=heads)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def raw(self, head):
        """The status of what a request's head is answered with that no library would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
            connection.sendall(f"{head}{token}Connection: close\r\n\r\n".encode())
            return int(connection.makefile("rb").readline().split()[1])

    def half_open(self, count):
        """How many of so many connections are still open that have sent half a head."""
        connections = [socket.create_connection(("127.0.0.1", self.port), timeout=20) for _ in range(count)]
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(1)
        left = 0
        for connection in connections:
            connection.setblocking(False)
            try:
                left += connection.recv(1) != b""
            except BlockingIOError:
                left += 1
            except OSError:
                pass
            connection.close()
        return left

    def form(self, verb, typed, token=TOKEN, origin=None, **headers):
        fields = {"by": "Ada", "because": "a test of <b>words</b> & \"quotes\"", "typed": typed, "token": token}
        return self.ask(f"/actions/{verb}", "POST", fields, Origin=origin or self.url.rstrip("/"), **headers)


@contextlib.contextmanager
def running(root):
    """Holds the fleet's lock, as a run does."""
    with open(os.path.join(root, "fleet", "run.lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ledger(root):
    with open(os.path.join(root, "fleet", "ledger.jsonl"), encoding="utf-8") as file:
        return [json.loads(line)["event"] for line in file]


def starting(binary, folder, root):
    print("starting")

    def refused(status, words, *arguments, **environment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HABITSTORE_")}
        done = subprocess.run([binary, *arguments], env={**kept, **environment}, capture_output=True, text=True, timeout=20)
        check(
            done.returncode == status and words in done.stderr and done.stderr.count("\n") == 1,
            f"{words} ({status})" if done.returncode == status else f"{done.returncode}: {done.stderr}",
        )

    refused(64, "there is no token", "--root", root, "--listen", "0.0.0.0:0")
    refused(64, "--host is for readers on other machines", "--root", root, "--host", "fleet.example")
    refused(64, "--listen is", "--root", root, "--listen", "nowhere")
    refused(64, "must be one word of 24", "--root", root, HABITSTORE_TOKEN="short")
    refused(64, "--root is missing")
    refused(64, "there is no option", "--root", root, "--tokenfile", "x")
    path = os.path.join(folder, "token")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TOKEN + "\n")
    os.chmod(path, 0o644)
    refused(64, "others can read the token", "--root", root, "--token-file", path)
    refused(74, "the token cannot be read", "--root", root, "--token-file", path + "-none")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused(74, "cannot be listened on", "--root", root, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    os.chmod(path, 0o600)
    return path


def refusals(server, root):
    print("refusals")
    for path in ["/", "/events", "/actions", "/metrics"]:
        check(server.ask(path, knows=False)[0] == 401, f"{path} is for who knows the token")
        check(server.ask(path, knows=False, Authorization="Bearer " + TOKEN[:-1] + "0")[0] == 401, f"{path} is not for who guesses")
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", ""]:
        check(server.ask("/", Host=host)[0] == 421, f"the name \"{host}\" is not the server's")
    for host in ["localhost:1", "127.0.0.1", "[::1]:9", "10.1.2.3:80", "fleet.example"]:
        check(server.ask("/", Host=host)[0] == 200, f"{host} may be the server's")
    for target in [f"http://127.0.0.1:{server.port}/", "http://evil.example/", "//evil.example/", "*"]:
        check(server.raw(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n") == 400, f"the target \"{target}\" is not a path")
    for second in ["evil.example", "127.0.0.1"]:
        check(server.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: {second}\r\n") == 400, f"a second Host, {second}, is refused")
    for fields, status in [({"name": "0123456789ab", "token": TOKEN[::-1]}, 403), ({"name": "0123456789ab", "token": TOKEN}, 404)]:
        check(server.ask("/who", "POST", fields, Origin=server.url.rstrip("/"))[0] == status, f"a name that nobody has: {status}")
    check(server.half_open(100) <= 32, "a client has 32 connections that say nothing")
    check(server.ask("/")[0] == 200, "the page is there all the same")
    wave = "25 %"
    check(server.form("pause", wave, origin="http://evil.example")[0] == 403, "a form of another page does nothing")
    check(server.form("pause", wave, origin="null")[0] == 403, "a form of no page does nothing")
    fields = {"by": "Ada", "because": "x", "typed": wave, "token": TOKEN}
    check(server.ask("/actions/pause", "POST", fields, knows=False)[0] == 403, "a form without an origin does nothing")
    status, _, text = server.form("pause", wave, token=TOKEN[::-1])
    check(status == 403 and "that is not the token" in text, "a form with another token does nothing")
    for verb in ["pause", "halt", "resume"]:
        status, _, text = server.form(verb, "5 %")
        check(status == 422 and "what was typed is not" in text, f"{verb} of another wave does nothing")
    status, _, text = server.form("kill", wave)
    check(status == 422 and "what was typed is not" in text, "a kill asks for the root's name")
    status, _, text = server.ask("/actions/pause", "POST", {**fields, "because": " "}, Origin=server.url.rstrip("/"))
    check(status == 422 and "say who you are, and why" in text, "nothing is done without a reason")
    check(server.ask("/actions/pause", "POST", {"by": "Ada"})[0] == 422, "a form without its fields does nothing")
    check(server.ask("/actions/pause", "POST", {**fields, "because": "x" * 9_000})[0] == 413, "a large form is not read")
    check(server.ask("/actions/pause", "POST", "{}", Content_Type="application/json")[0] == 415, "another form of forms is not read")
    check(server.ask("/actions/erase", "POST", fields)[0] == 404, "there is no other action")
    check(server.ask("/", "PUT", fields)[0] == 405, "there is no other method")
    check(server.ask("/fleet.sqlite")[0] == 404, "no file is served")
    kept = ["paused", "halted"]
    check(not any(os.path.exists(os.path.join(root, "fleet", name)) for name in kept), "nothing has stopped the fleet")
    check(not os.path.exists(os.path.join(root, "habit-store.kill")), "nobody is killed")


def heads(server):
    print("heads")
    for path in ["/", "/page.css", "/page.js", "/actions", "/none"]:
        _, found, _ = server.ask(path)
        policy = found["Content-Security-Policy"]
        check(
            found["Cache-Control"] == "no-store" and found["X-Frame-Options"] == "DENY" and "frame-ancestors 'none'" in policy
            and "unsafe" not in policy and found["X-Content-Type-Options"] == "nosniff" and found["Referrer-Policy"] == "same-origin",
            f"{path} is kept and framed by nobody",
        )
    status, found, text = server.ask("/", "HEAD")
    check(status == 200 and text == "" and int(found["Content-Length"]) > 1_000, "HEAD has no text")
    check(server.ask("/events", "HEAD")[0] == 200, "HEAD opens no stream")


def page(server, users):
    print(f"page of {users} users")
    begun = time.monotonic()
    status, _, text = server.ask("/")
    first = time.monotonic() - begun
    begun = time.monotonic()
    server.ask("/")
    check(status == 200, f"the page is there after {first:.3f} s, and after {time.monotonic() - begun:.3f} s for the next viewer")
    order = [text.index(f'id="{part}"') for part in
             ["summary", "differences", "stages", "waves", "waiting", "timing", "switch", "people", "audit"]]
    check(order == sorted(order), "its parts stand in their order")
    check("user-" not in text and "u-7573" not in text, "it names no user")
    check("soaks until" in text and f"of {users:,} users are on LMDB" in text, "one sentence says how it goes")
    check(re.search(r"<svg class=\"wide\"", text) is not None, "there is a plot")
    return first


def events(server, root):
    print("events")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    check(answer.headers["Content-Type"] == "text/event-stream", "events are a stream")

    def until(word):
        parts = {}
        while True:
            line = answer.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("data: {"):
                part = json.loads(line[6:])
                parts[part["id"]] = part["html"]
                if word in part["html"]:
                    return parts

    check(len(until("whole")) == 9, "they begin with all parts")
    index = sqlite3.connect(os.path.join(root, "fleet", "fleet.sqlite"))
    index.execute("UPDATE member SET verdict = 'different', difference = 'planted <here>' WHERE user = 'user-0'")
    index.commit()
    index.close()
    begun = time.monotonic()
    parts = until("planted &lt;here&gt;")
    check(time.monotonic() - begun < 3, f"a change of the index is there after {time.monotonic() - begun:.1f} s, and escaped")
    check("audit" not in parts, "what has not changed is not sent again")
    streams = []
    for _ in range(63):
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        stream.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"})
        stream.getresponse().readline()
        streams.append(stream)
    check(server.ask("/events")[0] == 503, "there are as many streams as there may be")
    check(server.ask("/")[0] == 200, "and the page is there all the same")
    for stream in [*streams, connection]:
        stream.sock.shutdown(socket.SHUT_RDWR)
        stream.close()
    deadline = time.monotonic() + 15
    while True:
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        stream.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"})
        status = stream.getresponse().status
        if status == 200:
            stream.close()
            break
        assert time.monotonic() < deadline, "streams that were closed are counted still"
        time.sleep(0.5)
    check(True, "a stream that was closed makes room")


def metrics(server):
    print("metrics")
    status, found, text = server.ask("/metrics")
    check(status == 200 and found["Content-Type"].startswith("text/plain; version=0.0.4"), "metrics are Prometheus' text")
    check("habitstore_fleet_state" in text and "user-" not in text, "they have the fleet's state, and no user")
    promtool = shutil.which("promtool")
    if promtool:
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, "promtool finds nothing wrong" if done.returncode == 0 else done.stderr)


def pictures(browser, server, name, folder):
    print(f"pictures of {name}")
    for width in [1200, 390]:
        for is_dark in [False, True]:
            browser.look(width, is_dark)
            browser.open(server.url)
            browser.until("document.documentElement.dataset.live === 'yes'")
            path = os.path.join(folder, f"{name}-{width}-{'dark' if is_dark else 'light'}.png")
            browser.picture(path)
            wide = browser.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"{os.path.basename(path)}: nothing is wider than the window")
    check(
        browser.evaluate("[...document.querySelectorAll('section[aria-labelledby]')].every(s =>"
                         " document.getElementById(s.getAttribute('aria-labelledby'))?.textContent)"),
        "each part has a title",
    )


def pressing(browser, server, root, folder):
    print("pressing")

    def act(verb, because, typed="25 %"):
        browser.press("a.button")
        browser.until(f"document.querySelector('form[action=\"/actions/{verb}\"]')")
        browser.submit(f"form[action='/actions/{verb}']", by="Ada", because=because, typed=typed, token=TOKEN)

    browser.look(1200, False)
    browser.call("Network.clearBrowserCookies")
    browser.open(server.url)
    browser.submit("form", token="f" * 32)
    browser.until("document.body.innerText.includes('That is not the token')")
    check(browser.evaluate("document.querySelector('#summary')") is None, "another token opens nothing")
    browser.submit("form", token=TOKEN)
    browser.until("document.querySelector('h1').textContent.includes('soaks until')")
    cookies = browser.call("Network.getCookies")["cookies"]
    check(len(cookies) == 1 and cookies[0]["httpOnly"] and cookies[0]["sameSite"] == "Strict", "the session's cookie is for no script")
    check(TOKEN not in json.dumps(cookies), "and is not the token")
    browser.press("a.button")
    browser.until("document.querySelector('form[action=\"/actions/pause\"]')")
    browser.picture(os.path.join(folder, "actions.png"))
    pause = "form[action='/actions/pause']"
    browser.submit(pause, by="Ada", because="a look first", typed="canary", token=TOKEN)
    browser.until("document.body.innerText.includes('what was typed is not')")
    check(not os.path.exists(os.path.join(root, "fleet", "paused")), "another wave's name pauses nothing")
    browser.submit(pause, by="Ada", because="a look <b>first</b>", typed="25 %", token=TOKEN)
    browser.until("document.querySelector('h1').textContent.startsWith('Paused by page: Ada: a look <b>first</b>')")
    check(os.path.exists(os.path.join(root, "fleet", "paused")), "the fleet is paused, and the page says so and by whom")
    check(ledger(root)[-1] == {"paused": {"by": "page: Ada", "because": "a look <b>first</b>"}}, "it is a line of the ledger")
    act("resume", "seen")
    browser.until("document.querySelector('h1').textContent.includes('soaks until')")
    check(not os.path.exists(os.path.join(root, "fleet", "paused")), "it goes on")
    act("halt", "something is odd")
    browser.until("document.querySelector('h1').textContent.startsWith('Halted by page: Ada: something is odd')")
    browser.until("document.querySelector('#summary .help code') !== null")
    browser.picture(os.path.join(folder, "halted.png"))
    check(os.path.exists(os.path.join(root, "fleet", "halted")), "the fleet is halted, and the page says what helps")
    act("resume", "seen to")
    browser.until("document.querySelector('h1').textContent.includes('soaks until')")
    number = browser.evaluate("performance.timeOrigin")
    os.remove(os.path.join(root, "fleet", "fleet.sqlite"))
    browser.until("document.body.innerText.includes('has no index')")
    check(browser.evaluate("performance.timeOrigin") == number, "an index that is lost shows without loading the page anew")
    act("kill", "it smokes", os.path.basename(root))
    browser.until("document.body.innerText.includes('Killed.')")
    check(os.path.exists(os.path.join(root, "habit-store.kill")), "a kill needs no index")
    check(ledger(root)[-1] == {"killed": {"by": "page: Ada", "because": "it smokes"}}, "it is a line of the ledger")
    browser.picture(os.path.join(folder, "killed.png"))
    check(browser.complaints() == [], "the browser has nothing to complain of")


def ending(server):
    print("ending")
    stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    stream.request("GET", "/events")
    stream.getresponse().readline()
    server.process.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    status = server.process.wait(10)
    check(status == 0, f"SIGTERM ends the server in {time.monotonic() - begun:.1f} s while a page is open")
    stream.close()


def main():
    binary, folder = sys.argv[1], sys.argv[2]
    chromium = sys.argv[3] if len(sys.argv) > 3 else shutil.which("chromium")
    os.makedirs(folder, exist_ok=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as temporary:
        roots = {name: os.path.join(temporary, name) for name in ["three", "many"]}
        for name, users in [("three", 3), ("many", 100_000)]:
            os.mkdir(roots[name])
            subprocess.run([sys.executable, os.path.join(HERE, "fleet.py"), roots[name], str(users)], check=True)
        path = starting(binary, temporary, roots["three"])
        browser = Browser(chromium) if chromium else None
        with Server(binary, roots["three"]) as few, Server(
            binary, roots["many"], "--token-file", path, "--host", "fleet.example"
        ) as many, contextlib.ExitStack() as ends:
            many.token = TOKEN
            if browser:
                ends.callback(browser.close)
            with running(roots["three"]), running(roots["many"]):
                page(few, 3)
                page(many, 100_000)
                heads(few)
                check(few.form("pause", "canary")[0] == 403, "without a token nothing can be stopped")
                refusals(many, roots["many"])
                metrics(many)
                if browser:
                    pictures(browser, few, "three", folder)
                    browser.open(many.url)
                    browser.submit("form", token=TOKEN)
                    pictures(browser, many, "many", folder)
                events(many, roots["many"])
                if browser:
                    pressing(browser, many, roots["many"], folder)
                else:
                    print("there is no Chromium: no pictures, and nothing was pressed")
            ending(few)
    print(f"all of it holds, after {time.monotonic() - begun:.0f} s; the pictures are in {folder}")


main()
