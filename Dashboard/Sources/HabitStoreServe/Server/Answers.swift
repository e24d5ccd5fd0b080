import Foundation
import HTTPTypes
import Hummingbird

/// Answers in the forms that the site has.
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

    /// Sends a browser elsewhere, with a GET.
    static func redirect(_ path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }

    /// What every answer says: it is kept by nobody, framed by nobody, and runs nothing but the server's own script.
    static let heads: [(HTTPField.Name?, String)] = [
        (.cacheControl, "no-store"),
        (.xContentTypeOptions, "nosniff"),
        (HTTPField.Name("X-Frame-Options"), "DENY"),
        // Forms are sent with their origin; under `no-referrer` browsers would send none.
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

    /// The answer with what every answer says.
    static func guarded(_ response: Response) -> Response {
        var response = response
        for (name, value) in heads {
            guard let name else { continue }
            response.headers[name] = value
        }
        return response
    }
}
