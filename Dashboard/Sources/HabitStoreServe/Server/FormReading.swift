import Foundation
import Hummingbird

/// Forms, as browsers send them.
enum FormReading {
    /// How large a form may be, and how long its sender may take.
    static let mostBytes = 8_192
    static let seconds = 10.0

    /// What is wrong with a form, in one line, and the status that says so.
    struct Failure: Error {
        let status: HTTPResponse.Status
        let message: String
    }

    /// Reads a form.
    static func read<Form: Decodable & Sendable>(_ form: Form.Type, _ request: Request) async throws(Failure) -> Form {
        let type = request.headers[.contentType] ?? ""
        guard type.lowercased().hasPrefix("application/x-www-form-urlencoded") else {
            throw Failure(
                status: .unsupportedMediaType,
                message: "A form is sent as application/x-www-form-urlencoded."
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
