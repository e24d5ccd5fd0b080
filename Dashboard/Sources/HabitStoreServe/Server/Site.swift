import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreMetrics
import Hummingbird

/// The site: the page, its events, the metrics, and the forms for stopping a fleet.
struct Site: HTTPResponder {
    typealias Context = BasicRequestContext

    let options: ServeOptions
    let gatekeeper: Gatekeeper
    let keeper: PageKeeper
    let templates: Templates
    let events: EventStream
    let figures: MetricsKeeper
    let fleet: Fleet

    init(_ options: ServeOptions) throws {
        self.options = options
        gatekeeper = Gatekeeper(token: options.token, hosts: options.hosts.union([options.listen.host.lowercased()]))
        templates = try Templates()
        keeper = try PageKeeper(options, templates)
        events = EventStream(keeper: keeper)
        fleet = try Fleet(root: options.root, store: options.storeName)
        figures = MetricsKeeper(fleet: fleet)
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        var response = Answers.guarded(await answer(request))
        if request.method == .head {
            let length = response.body.contentLength
            response.body = ResponseBody()
            response.headers[.contentLength] = length.map { "\($0)" }
        }
        return response
    }

    private func answer(_ request: Request) async -> Response {
        guard gatekeeper.isPlain(request) else {
            return Answers.text(
                "A request must name a path, and one host in its Host header; nothing was done.",
                status: .badRequest
            )
        }
        guard gatekeeper.isOwnHost(request) else {
            return Answers.text(
                "The Host header's name is not one of this server's; add it with --host.",
                status: .misdirectedRequest
            )
        }
        switch request.method {
        case .get, .head: return await read(request)
        case .post:
            guard gatekeeper.isOwnOrigin(request) else {
                return Answers.text(
                    "The form was not sent from this server's own page; nothing was done.",
                    status: .forbidden
                )
            }
            return await write(request)
        default:
            var response = Answers.text("Only GET is supported, and POST for forms.", status: .methodNotAllowed)
            response.headers[.allow] = "GET, HEAD, POST"
            return response
        }
    }

    // MARK: Reading

    private func read(_ request: Request) async -> Response {
        switch request.uri.path {
        case "/page.css": return Answers.answer(Style.text, "text/css; charset=utf-8")
        case "/page.js": return Answers.answer(Script.text, "text/javascript; charset=utf-8")
        case "/", "/events", "/actions", "/metrics", "/who": break
        default: return Answers.text("There is nothing here; the page is at /.", status: .notFound)
        }
        guard gatekeeper.mayRead(request) else { return unknownReader(request) }
        switch request.uri.path {
        case "/events": return events.response(mayGoOn: { gatekeeper.mayRead(request) })
        case "/actions": return await actions(request)
        case "/metrics": return await metrics()
        case "/who": return Answers.html(templates.render("who", whoPage()))
        default: return await page(request)
        }
    }

    private func unknownReader(_ request: Request) -> Response {
        let isPage = ["/", "/actions", "/who"].contains(request.uri.path)
        var response =
            isPage
            ? Answers.html(templates.render("login", LoginPage(problem: nil)), status: .unauthorized)
            : Answers.text("The token is missing or wrong.", status: .unauthorized)
        response.headers[.wwwAuthenticate] = "Bearer"
        return response
    }

    private func page(_ request: Request) async -> Response {
        let page = await keeper.current()
        let done = request.uri.queryParameters["done"].flatMap { StopAction(rawValue: String($0)) }
        let model = WholePage(page, keeper, notice: done?.words.done, showsUsers: options.showsUsers)
        return Answers.html(templates.render("page", model))
    }

    private func metrics() async -> Response {
        do {
            return Answers.answer(try await figures.current(), MetricFamily.contentType)
        } catch {
            let reason = (error as? HabitStoreError)?.description ?? "\(error)"
            return Answers.text("The fleet's metrics cannot be read: \(reason)", status: .serviceUnavailable)
        }
    }

    private func actions(_ request: Request) async -> Response {
        Answers.html(await actionPage(request, problem: nil, by: "", because: ""))
    }

    func actionPage(_ request: Request, problem: String?, by: String, because: String) async -> String {
        // A disk that does not respond must not delay a kill.
        let page = await keeper.current(within: Self.patienceSeconds)
        let offered = page == nil ? [StopAction.kill] : StopAction.allCases
        let forms = offered.map { action in
            let words = action.words
            return ActionPage.Form(
                verb: action.rawValue,
                className: action == .kill ? "danger" : "plain",
                title: words.title,
                what: words.what,
                button: words.button,
                asked: action == .kill || page?.wave == nil ? "the root’s name" : "the wave’s name",
                expected: expected(action, page),
                by: by,
                because: because
            )
        }
        let model = ActionPage(
            title: "Stop \(keeper.fleetName)",
            fleetName: keeper.fleetName,
            sentence: page?.sentence ?? "The fleet's files do not respond; a kill needs none of them.",
            problem: problem,
            isOn: options.token != nil,
            canLeave: gatekeeper.session(request).map(gatekeeper.sessions.isOpen) == true,
            forms: forms
        )
        return templates.render("actions", model)
    }

    private static let patienceSeconds = 3.0

    func expected(_ action: StopAction, _ page: PageKeeper.Page?) -> String {
        action == .kill ? keeper.fleetName : page?.wave ?? keeper.fleetName
    }
}
