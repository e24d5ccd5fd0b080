import HabitStore
import Mustache

/// The page's templates. Text from files is always escaped; only parts rendered by these templates and charts of numbers are inserted unescaped.
struct Templates: Sendable {
    private let library: MustacheLibrary

    /// - Throws: an error if a template cannot be parsed, which is a bug in this program.
    init() throws {
        var library = MustacheLibrary()
        for (name, text) in Self.fragments { try library.register(text, named: name) }
        try library.register(Self.page, named: "page")
        try library.register(Self.actions, named: "actions")
        try library.register(Self.login, named: "login")
        try library.register(Self.who, named: "who")
        try library.register(Self.head, named: "head")
        try library.register(Self.piece, named: "piece")
        self.library = library
    }

    func render(_ name: String, _ model: Any) -> String { library.render(model, withTemplate: name) ?? "" }

    private static let piece = "{{#isCode}}<code>{{text}}</code>{{/isCode}}{{^isCode}}{{text}}{{/isCode}}"

    private static let head = """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark"><title>{{title}}</title><link rel="icon" href="data:,">
        <link rel="stylesheet" href="/page.css">
        """

    private static var page: String {
        """
        {{>head}}<noscript><meta http-equiv="refresh" content="30"></noscript><script src="/page.js" defer></script></head><body>
        <header><p class="name">HabitStore <span class="muted">fleet</span> <strong>{{fleetName}}</strong></p>
        <nav aria-label="Page"><a class="button" href="/actions">Pause, halt, kill …</a></nav></header>
        <main>{{#notice}}<p class="banner good" role="status">{{notice}}</p>{{/notice}}
        <section id="summary" aria-live="polite">{{{summary}}}</section>
        <p class="muted small" id="look">As of {{time}}. Without scripts this page reloads every 30 seconds.</p>
        {{#sections}}<section aria-labelledby="{{id}}-title"><h2 id="{{id}}-title">{{title}}</h2>
        <div id="{{id}}">{{{html}}}</div></section>{{/sections}}
        </main><footer class="muted"><p>From the fleet’s index and files; the stores are the truth, and
        <code>\(OperatorCommand.name) fleet audit</code> compares the index with them. Figures for Prometheus are at <a href="/metrics">/metrics</a>.
        {{^showsUsers}}Users are shown by a hash of their ids: <a href="/who">whose name is it?</a>{{/showsUsers}}</p></footer></body></html>
        """
    }

    private static var actions: String {
        """
        {{>head}}</head><body><header><p class="name">HabitStore <span class="muted">fleet</span> <strong>{{fleetName}}</strong></p>
        <nav aria-label="Page"><a class="button" href="/">Back to the page</a></nav></header><main>
        <h1>Pause, halt, resume, kill</h1><p>{{sentence}}</p>
        {{#problem}}<p class="banner bad" role="alert">{{problem}}</p>{{/problem}}
        {{^isOn}}<p class="banner warn" role="status">Nothing can be stopped from here, because this server has no token: start it with
        <code>--token-file</code>. From a terminal: <code>\(OperatorCommand.name) fleet pause --because TEXT</code>,
        <code>fleet halt --because TEXT</code>, <code>rollout kill</code>.</p>{{/isOn}}
        {{#isOn}}<p class="muted">Each asks for the token and a typed name, and is recorded in the fleet’s ledger.</p>
        <div class="forms">{{#forms}}<form method="post" action="/actions/{{verb}}" class="{{className}}" autocomplete="off">
        <h2>{{title}}</h2><p>{{what}}</p>
        <label for="{{verb}}-by">Your name</label><input id="{{verb}}-by" name="by" value="{{by}}" required maxlength="100">
        <label for="{{verb}}-because">Why</label><input id="{{verb}}-because" name="because" value="{{because}}" required maxlength="500">
        <label for="{{verb}}-typed">Type {{asked}}: <code>{{expected}}</code></label>
        <input id="{{verb}}-typed" name="typed" required maxlength="200" autocapitalize="none" spellcheck="false">
        <label for="{{verb}}-token">Token</label><input id="{{verb}}-token" name="token" type="password" required maxlength="1024">
        <button type="submit">{{button}}</button></form>{{/forms}}</div>{{/isOn}}
        {{#canLeave}}<form method="post" action="/logout" class="leave"><button type="submit">End this page’s session</button></form>{{/canLeave}}
        </main></body></html>
        """
    }

    private static let who = """
        {{>head}}</head><body><header><p class="name">HabitStore <span class="muted">fleet</span> <strong>{{fleetName}}</strong></p>
        <nav aria-label="Page"><a class="button" href="/">Back to the page</a></nav></header><main class="narrow">
        <h1>Whose name is it?</h1>{{#problem}}<p class="banner bad" role="alert">{{problem}}</p>{{/problem}}
        {{#user}}<p class="banner good" role="status"><code>{{name}}</code> is <code>{{user}}</code></p>{{/user}}
        {{#isOn}}<form method="post" action="/who" autocomplete="off"><label for="name">Name, as the page shows it</label>
        <input id="name" name="name" value="{{name}}" required maxlength="100" autocapitalize="none" spellcheck="false">
        <label for="token">Token</label><input id="token" name="token" type="password" required maxlength="1024">
        <button type="submit">Show the user</button></form>{{/isOn}}
        {{^isOn}}<p class="banner warn" role="status">This server has no token, and does not show users.</p>{{/isOn}}
        <p class="muted">From a terminal: <code>{{command}}</code>.</p></main></body></html>
        """

    private static let login = """
        {{>head}}</head><body><header><p class="name">HabitStore <span class="muted">fleet</span></p></header><main class="narrow">
        <h1>The token, please</h1>{{#problem}}<p class="banner bad" role="alert">{{problem}}</p>{{/problem}}
        <form method="post" action="/login"><label for="token">Token</label>
        <input id="token" name="token" type="password" required maxlength="1024" autofocus><button type="submit">Show the page</button></form>
        <p class="muted">Programs send it as <code>Authorization: Bearer</code>.</p></main></body></html>
        """
}
