import Foundation
import HabitStore

/// Reads the JSON files that come with a verification.
enum JSONFile {
    /// How large such a file may be.
    private static let maximumBytes = 64 << 20

    static func load<T: Decodable>(path: String, what: String) throws -> T {
        let data = try FileBytes.read(path: path, what: what, limit: maximumBytes)
        do {
            return try JSONDecoder().decode(T.self, from: data)
        } catch {
            throw HabitStoreError(
                .invalidQuery,
                "this is not \(what): \(reason(error, data))",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private static func reason(_ error: any Error, _ data: Data) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let context: DecodingError.Context
        switch error {
        case .keyNotFound(_, let found), .typeMismatch(_, let found), .valueNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        @unknown default: return "\(error)"
        }
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        if path.isEmpty { return place(in: data) ?? context.debugDescription }
        return "at \(path.drop { $0 == "." }): \(context.debugDescription)"
    }

    /// Where a text stops being JSON, which the decoder does not tell; nil when it is JSON.
    private static func place(in data: Data) -> String? {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            return nil
        } catch {
            return (error as NSError).userInfo["NSDebugDescription"] as? String
        }
    }
}
