import Foundation
import HTTPTypes
import Hummingbird

/// Who may ask, and from where.
struct Gatekeeper: Sendable {
    let token: Token?
    /// Names under which the page is reached, beside addresses and localhost; lower case.
    let hosts: Set<String>
    let sessions = Sessions()

    /// Whether the request came under a name of this server. Another name is somebody's who has it lead here, to read as the browser's
    /// user may (DNS rebinding); an address cannot be such a name.
    func isOwnHost(_ request: Request) -> Bool {
        guard let host = Self.host(request.head.authority ?? "") else { return false }
        return host == "localhost" || hosts.contains(host) || Self.isAddress(host)
    }

    /// Whether the request names a path and one host. A whole address as its target, or a second host, would be this server's to one reader of
    /// the request and another one's to the next: what stands in front of it may have judged by the other name.
    func isPlain(_ request: Request) -> Bool {
        guard let path = request.head.path, path.hasPrefix("/"), !path.hasPrefix("//"),
            let host = HTTPField.Name("Host")
        else { return false }
        // The first one is the request's authority.
        return request.head.headerFields[values: host].isEmpty
    }

    /// The name of `name:port`, in lower case and without brackets.
    private static func host(_ authority: String) -> String? {
        let text = authority.lowercased()
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            return String(text[text.index(after: text.startIndex)..<end])
        }
        let host = text.prefix { $0 != ":" }
        return host.isEmpty ? nil : String(host)
    }

    private static func isAddress(_ host: String) -> Bool {
        var (four, six) = (in_addr(), in6_addr())
        return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    /// Whether a form was sent from a page of this server. A program that shows the token by itself needs none: no browser does that for
    /// another page.
    func isOwnOrigin(_ request: Request) -> Bool {
        guard let origin = request.headers[.origin] else { return hasToken(request) }
        guard let authority = request.head.authority else { return false }
        return ["http://", "https://"].contains { origin.lowercased() == $0 + authority.lowercased() }
    }

    /// Whether the request may read: everybody may where there is no token.
    func mayRead(_ request: Request) -> Bool {
        guard token != nil else { return true }
        return hasToken(request) || session(request).map(sessions.isOpen) == true
    }

    /// The session that the request names.
    func session(_ request: Request) -> String? { request.cookies[Sessions.cookie]?.value }

    /// Whether the request shows the token in its head.
    private func hasToken(_ request: Request) -> Bool {
        guard let token, let word = request.headers[.authorization], word.lowercased().hasPrefix("bearer ") else {
            return false
        }
        return token.isKnown(by: String(word.dropFirst("bearer ".count)))
    }
}
