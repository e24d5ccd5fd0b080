import FeatureFlags
import FlagTools
import HabitStore

extension LintFinding {
    /// The finding as JSON.
    var json: JSON {
        .object([
            "rule": .string(rule.rawValue),
            "severity": .string(severity.rawValue),
            "message": .string(message),
            "file": .optional(location.file),
            "line": location.line.map { .int($0) } ?? .null,
            "column": location.column.map { .int($0) } ?? .null,
        ])
    }
}

extension FlagValue {
    /// The value as JSON.
    var json: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(Int(value))
        case .double(let value): value.isFinite ? .double(value) : .null
        case .string(let value): .string(value)
        case .list(let elements): .array(elements.map(\.json))
        case .object(let members): .object(members.mapValues(\.json))
        }
    }

    /// The value as one line of JSON.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): String(value)
        case .string(let value): "\"\(value)\""
        case .list(let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value.text)" }.joined(separator: ", ")
                + "}"
        }
    }
}

extension FlagError.Location {
    /// The location as JSON.
    var json: JSON {
        .object([
            "file": .optional(file.map(Passwords.redacted)),
            "line": line.map { .int($0) } ?? .null,
            "column": column.map { .int($0) } ?? .null,
        ])
    }
}
