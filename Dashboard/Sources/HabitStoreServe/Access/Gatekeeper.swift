import Foundation
import HTTPTypes
import Hummingbird

/// Decides which requests are allowed, by host, origin, token and session.
struct Gatekeeper: Sendable {
    let token: Token?
    /// The names of this server, in addition to addresses and localhost; in lower case.
    let hosts: Set<String>
    let sessions = Sessions()

    /// Whether the request's host is a name of this server. Another name may be one that an attacker resolves to this server in order to read with
    /// the rights of the browser's user (DNS rebinding); an address cannot be abused like that.
    func isOwnHost(_ request: Request) -> Bool {
        guard let host = Self.host(request.head.authority ?? "") else { return false }
        return host == "localhost" || hosts.contains(host) || Self.isAddress(host)
    }

    /// Whether the request has a path and exactly one host. With an absolute URI as its target, or a second host, this server and a proxy in front of
    /// it could disagree about the host.
    func isPlain(_ request: Request) -> Bool {
        guard let path = request.head.path, path.hasPrefix("/"), !path.hasPrefix("//"),
            let host = HTTPField.Name("Host")
        else { return false }
        // The first `Host` became the request's authority.
        return request.head.headerFields[values: host].isEmpty
    }

    /// The name in `name:port`, in lower case and without brackets.
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

    /// Whether a form was sent from a page of this server. A program that sends the token itself needs no origin: a browser never does that for
    /// another page.
    func isOwnOrigin(_ request: Request) -> Bool {
        guard let origin = request.headers[.origin] else { return hasToken(request) }
        guard let authority = request.head.authority else { return false }
        return ["http://", "https://"].contains { origin.lowercased() == $0 + authority.lowercased() }
    }

    /// Whether the request may read; always true without a token.
    func mayRead(_ request: Request) -> Bool {
        guard token != nil else { return true }
        return hasToken(request) || session(request).map(sessions.isOpen) == true
    }

    /// The request's session.
    func session(_ request: Request) -> String? { request.cookies[Sessions.cookie]?.value }

    /// Whether the request has the token in its headers.
    private func hasToken(_ request: Request) -> Bool {
        guard let token, let word = request.headers[.authorization], word.lowercased().hasPrefix("bearer ") else {
            return false
        }
        return token.isKnown(by: String(word.dropFirst("bearer ".count)))
    }
}
