import Foundation
import Hummingbird

/// Reads forms that browsers send.
enum FormReading {
    /// The maximum size of a form, and the time to send it.
    static let mostBytes = 8_192
    static let seconds = 10.0

    /// An error in a form, in one line, and the response's status.
    struct Failure: Error {
        let status: HTTPResponse.Status
        let message: String
    }

    static func read<Form: Decodable & Sendable>(_ form: Form.Type, _ request: Request) async throws(Failure) -> Form {
        let type = request.headers[.contentType] ?? ""
        guard type.lowercased().hasPrefix("application/x-www-form-urlencoded") else {
            throw Failure(
                status: .unsupportedMediaType,
                message: "A form must be sent as application/x-www-form-urlencoded."
            )
        }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > mostBytes {
            throw Failure(status: .contentTooLarge, message: "The form has more than \(mostBytes) bytes.")
        }
        let text: String
        do {
            text = try await withThrowingTaskGroup(of: String.self) { group in
                group.addTask { String(buffer: try await request.body.collect(upTo: mostBytes)) }
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    throw Failure(status: .requestTimeout, message: "The form took longer than \(Int(seconds)) s.")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? ""
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                status: .contentTooLarge,
                message: "The form cannot be read, or has more than \(mostBytes) bytes."
            )
        }
        do {
            return try URLEncodedFormDecoder().decode(form, from: text)
        } catch {
            throw Failure(status: .unprocessableContent, message: "A field of the form is missing.")
        }
    }
}
