import Foundation
import HTTPTypes
import Hummingbird

/// Makes responses.
enum Answers {
    static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        answer(text, "text/html; charset=utf-8", status)
    }

    static func text(_ text: String, status: HTTPResponse.Status) -> Response {
        answer(text + "\n", "text/plain; charset=utf-8", status)
    }

    static func answer(_ text: String, _ type: String, _ status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// Redirects a browser, which then uses GET.
    static func redirect(_ path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }

    /// The headers of every response: no caching, no framing, and no scripts except the server's own.
    static let heads: [(HTTPField.Name?, String)] = [
        (.cacheControl, "no-store"),
        (.xContentTypeOptions, "nosniff"),
        (HTTPField.Name("X-Frame-Options"), "DENY"),
        // Forms need an origin, which browsers do not send under `no-referrer`.
        (HTTPField.Name("Referrer-Policy"), "same-origin"),
        (HTTPField.Name("Cross-Origin-Opener-Policy"), "same-origin"),
        (HTTPField.Name("Cross-Origin-Resource-Policy"), "same-origin"),
        (HTTPField.Name("Permissions-Policy"), "camera=(), geolocation=(), microphone=()"),
        (
            .contentSecurityPolicy,
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'"
        ),
    ]

    /// Adds the headers of every response.
    static func guarded(_ response: Response) -> Response {
        var response = response
        for (name, value) in heads {
            guard let name else { continue }
            response.headers[name] = value
        }
        return response
    }
}
