import Foundation
import HabitStore

/// Throws unless the claim holds.
package func expect(_ holds: Bool, _ claim: String, fileID: String = #fileID, line: Int = #line) throws {
    guard holds else { throw ContractViolation("expected that \(claim)", fileID: fileID, line: line) }
}

/// Throws unless both are equal.
package func expectEqual<T: Equatable>(
    _ found: T,
    _ expected: T,
    _ what: String = "the answer",
    fileID: String = #fileID,
    line: Int = #line
) throws {
    guard found == expected else {
        throw ContractViolation("\(what): found \(found), expected \(expected)", fileID: fileID, line: line)
    }
}

/// Throws if the value is nil.
package func require<T>(_ value: T?, _ what: String, fileID: String = #fileID, line: Int = #line) throws -> T {
    guard let value else { throw ContractViolation("\(what) is missing", fileID: fileID, line: line) }
    return value
}

/// Throws unless `body` throws an error with the code, and with the given parts of a location.
@discardableResult
func expectError<R>(
    _ code: HabitStoreError.Code,
    entity: String? = nil,
    attribute: String? = nil,
    id: UUID? = nil,
    fileID: String = #fileID,
    line: Int = #line,
    _ body: () throws -> R
) throws -> HabitStoreError {
    do {
        let result = try body()
        throw ContractViolation("expected the error \(code), but got \(result)", fileID: fileID, line: line)
    } catch let error as HabitStoreError {
        guard error.code == code else {
            throw ContractViolation(
                "expected the error \(code), but got \(error.code): \(error)",
                fileID: fileID,
                line: line
            )
        }
        try expectPart(error.location.entity, entity, "entity", error, fileID, line)
        try expectPart(error.location.attribute, attribute, "attribute", error, fileID, line)
        try expectPart(error.location.id, id, "id", error, fileID, line)
        return error
    }
}

private func expectPart<T: Equatable>(
    _ found: T?,
    _ expected: T?,
    _ part: String,
    _ error: HabitStoreError,
    _ fileID: String,
    _ line: Int
) throws {
    guard let expected, found != expected else { return }
    let named = found.map { "\($0)" } ?? "none"
    throw ContractViolation(
        "the error names the \(part) \(named), not \(expected): \(error)",
        fileID: fileID,
        line: line
    )
}
