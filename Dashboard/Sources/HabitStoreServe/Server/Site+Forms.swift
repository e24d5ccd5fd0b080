import Foundation
import HabitStore
import HabitStoreFleet
import Hummingbird

extension Site {
    func write(_ request: Request) async -> Response {
        let parts = request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        do throws(FormReading.Failure) {
            if parts == ["login"] { return try await login(request) }
            if parts == ["who"] { return try await who(request) }
            if parts == ["logout"] {
                if let session = gatekeeper.session(request) { gatekeeper.sessions.end(session) }
                return Answers.redirect("/")
            }
            if parts.count == 2, parts.first == "actions", let action = StopAction(rawValue: String(parts.last ?? "")) {
                return try await stop(action, request)
            }
            return Answers.text("There is no such form.", status: .notFound)
        } catch {
            return Answers.text(error.message, status: error.status)
        }
    }

    private func login(_ request: Request) async throws(FormReading.Failure) -> Response {
        let form = try await FormReading.read(LoginForm.self, request)
        guard let token = options.token, token.isKnown(by: form.token) else {
            await Self.slowDown()
            let problem =
                options.token == nil ? "This server has no token, and needs none." : "That is not the token."
            return Answers.html(templates.render("login", LoginPage(problem: problem)), status: .forbidden)
        }
        var response = Answers.redirect("/")
        response.setCookie(
            Cookie(
                name: Sessions.cookie,
                value: gatekeeper.sessions.begin(),
                maxAge: Int(Sessions.seconds),
                path: "/",
                httpOnly: true,
                sameSite: .strict
            )
        )
        return response
    }

    /// Looks up the user with a name on the page; each lookup asks for the token.
    private func who(_ request: Request) async throws(FormReading.Failure) -> Response {
        let form = try await FormReading.read(WhoForm.self, request)
        func answer(_ status: HTTPResponse.Status, problem: String? = nil, user: String? = nil) -> Response {
            Answers.html(
                templates.render("who", whoPage(form.name, problem: problem, user: user)),
                status: status
            )
        }
        guard let token = options.token else { return answer(.forbidden, problem: "This server has no token.") }
        guard token.isKnown(by: form.token) else {
            await Self.slowDown()
            return answer(.forbidden, problem: "That is not the token.")
        }
        let name = Self.line(form.name, most: 100)
        do {
            return answer(.ok, user: try await Self.waiting { [fleet] in try fleet.user(named: name) })
        } catch let error as HabitStoreError where error.code == .notFound {
            return answer(.notFound, problem: error.message)
        } catch {
            return answer(.serviceUnavailable, problem: (error as? HabitStoreError)?.description ?? "\(error)")
        }
    }

    func whoPage(_ name: String = "", problem: String? = nil, user: String? = nil) -> WhoPage {
        WhoPage(
            fleetName: keeper.fleetName,
            isOn: options.token != nil,
            name: name,
            problem: problem,
            user: user,
            command: keeper.filled("\(OperatorCommand.name) fleet who --root ROOT NAME")
        )
    }

    private func stop(_ action: StopAction, _ request: Request) async throws(FormReading.Failure) -> Response {
        let form = try await FormReading.read(ActionForm.self, request)
        func refused(_ problem: String, _ status: HTTPResponse.Status) async -> Response {
            Answers.html(
                await actionPage(request, problem: problem, by: form.by, because: form.because),
                status: status
            )
        }
        guard let token = options.token else {
            return await refused("Nothing was done: this server has no token.", .forbidden)
        }
        guard token.isKnown(by: form.token) else {
            await Self.slowDown()
            return await refused("Nothing was done: that is not the token.", .forbidden)
        }
        // A kill does not wait for the index.
        let expected = action == .kill ? keeper.fleetName : expected(action, await keeper.current())
        guard form.typed == expected else {
            return await refused("Nothing was done: what was typed is not \"\(expected)\".", .unprocessableContent)
        }
        let (by, because) = (Self.line(form.by, most: 100), Self.line(form.because, most: 500))
        guard !by.isEmpty, !because.isEmpty else {
            return await refused("Nothing was done: say who you are, and why.", .unprocessableContent)
        }
        do {
            let said = try await Self.waiting { [fleet] in
                try action.perform(fleet, by: "page: \(by)", because: because)
            }
            keeper.lookAnew()
            guard said == action.words.done else { return await refused(said, .ok) }
            return Answers.redirect("/?done=\(action.rawValue)")
        } catch {
            let reason = (error as? HabitStoreError)?.description ?? "\(error)"
            return await refused("Nothing was done: \(reason)", .internalServerError)
        }
    }

    /// A text as one line without control characters.
    private static func line(_ text: String, most: Int) -> String {
        let printed = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.isWhitespace ? " " : $0 })
        )
        let kept = printed.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return String(String(String.UnicodeScalarView(kept)).prefix(most)).trimmingCharacters(in: .whitespaces)
    }

    /// Limits the rate of guesses.
    private static func slowDown() async { try? await Task.sleep(for: .milliseconds(500)) }

    /// Runs a body that blocks on the disk, which a Swift task must not do.
    static func waiting<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }
}
