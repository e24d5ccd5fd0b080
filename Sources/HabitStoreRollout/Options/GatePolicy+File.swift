import Foundation
import HabitStore

extension GatePolicy {
    /// The largest policy file.
    private static let maximumFileBytes = 65_536

    /// Reads a policy from a JSON file.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if it does not exist, ``HabitStoreError/Code/permissionDenied`` if it cannot be read, and
    ///   ``HabitStoreError/Code/invalidValue`` if it is not a policy: a misspelt field would otherwise silently leave the gate unchanged.
    public static func load(path: String) throws -> GatePolicy {
        guard FileManager.default.fileExists(atPath: path) else {
            throw HabitStoreError(.notFound, "there is no policy of the gate here", at: .init(path: path))
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw HabitStoreError(.permissionDenied, "the gate's policy cannot be read", at: .init(path: path))
        }
        guard data.count <= maximumFileBytes else {
            throw HabitStoreError(
                .invalidValue,
                "the gate's policy has \(data.count) bytes; \(maximumFileBytes) are the most",
                at: .init(path: path)
            )
        }
        do {
            return try JSONDecoder().decode(GatePolicy.self, from: data)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "this is not a policy of the gate: \(reason(error))",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            let field = context.codingPath.last?.stringValue
            return field.map { "the value of \($0) has the wrong type" } ?? "it is not a JSON object"
        case .dataCorrupted(let context): return context.debugDescription
        case .keyNotFound(let key, _): return "\(key.stringValue) is missing"
        default: return "\(error)"
        }
    }
}
