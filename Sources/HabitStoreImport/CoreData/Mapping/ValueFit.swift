import Foundation
import HabitStore

/// Converts a value to an attribute's kind if that loses nothing.
enum ValueFit {
    /// The converted value, and the reason if it does not fit.
    static func fit(_ value: Value, to attribute: AttributeDescription) -> (value: Value, problem: String?) {
        if value.isNull { return (attribute.kind == .links ? .links([]) : .null, nil) }
        guard let fitted = fitted(value, attribute.kind), let normal = try? fitted.normalized() else {
            return (
                attribute.kind == .links ? .links([]) : .null,
                "does not fit \(attribute.name), a \(attribute.kind.rawValue)"
            )
        }
        return (normal, nil)
    }

    private static func fitted(_ value: Value, _ kind: AttributeKind) -> Value? {
        switch (value, kind) {
        case (.bool, .bool), (.int, .int), (.double, .double), (.string, .string), (.date, .date), (.uuid, .uuid),
            (.data, .data), (.strings, .strings), (.links, .links):
            return value
        case (.int(let number), .double):
            return Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
        case (.double(let number), .int): return Int64(exactly: number).map { .int($0) }
        case (.int(let number), .bool): return number == 0 || number == 1 ? .bool(number == 1) : nil
        case (.bool(let flag), .int): return .int(flag ? 1 : 0)
        case (.bool(let flag), .double): return .double(flag ? 1 : 0)
        case (.int(let number), .string): return .string(String(number))
        case (.double(let number), .string): return .string(String(number))
        case (.bool(let flag), .string): return .string(String(flag))
        case (.uuid(let id), .string): return .string(id.uuidString)
        case (.string(let text), .uuid): return UUID(uuidString: text).map { .uuid($0) }
        case (.string(let text), .int): return Int64(text).map { .int($0) }
        case (.string(let text), .double): return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case (.string(let text), .strings): return .strings([text])
        case (.strings(let texts), .string): return texts.count == 1 ? .string(texts[0]) : nil
        case (.uuid(let id), .links): return .links([id])
        case (.string(let text), .data): return .data(Data(text.utf8))
        default: return nil
        }
    }
}
