import Foundation
import HabitStore

/// The declared order of values, written down a second time: what sorting must come to.
enum FuzzOrder {
    /// The value of anything that an attribute can be.
    static func value(_ any: Any) throws -> Value {
        // Numbers that are worked out need not be ones that can be kept.
        if let number = any as? Double { return .double(number) }
        guard let convertible = any as? any AttributeConvertible else {
            throw FuzzTypeMismatch(wanted: "a value", found: "\(any)")
        }
        return try convertible.attributeValue()
    }

    /// Whether a comparison of a filter holds.
    static func holds(_ comparison: FilterExpression.Comparison, _ left: Value, _ right: Value) -> Bool {
        if left.isNull || right.isNull {
            switch comparison {
            case .equal: return left.isNull && right.isNull
            case .notEqual: return left.isNull != right.isNull
            case .less, .lessOrEqual, .greater, .greaterOrEqual: return false
            }
        }
        if case (.double(let left), .double(let right)) = (left, right), left.isNaN || right.isNaN {
            return comparison == .notEqual
        }
        switch comparison {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less: return isBefore(left, right)
        case .lessOrEqual: return !isBefore(right, left)
        case .greater: return isBefore(right, left)
        case .greaterOrEqual: return !isBefore(left, right)
        }
    }

    /// Whether one value stands before another of its kind; nil stands first.
    static func isBefore(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.null, let other): return !other.isNull
        case (_, .null): return false
        case (.bool(let a), .bool(let b)): return !a && b
        case (.int(let a), .int(let b)): return a < b
        case (.double(let a), .double(let b)): return a < b
        case (.date(let a), .date(let b)): return a < b
        case (.string(let a), .string(let b)): return a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.uuid(let a), .uuid(let b)): return isBefore(a, b)
        case (.data(let a), .data(let b)): return a.lexicographicallyPrecedes(b)
        case (.strings(let a), .strings(let b)):
            return a.lexicographicallyPrecedes(b) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        case (.links(let a), .links(let b)):
            return a.lexicographicallyPrecedes(b, by: isBefore)
        default: return false
        }
    }

    /// Whether Swift makes a range of two bounds, also once a filter has brought them into NFC: it has an order of its own for text
    /// that is not in NFC, and none for what is not a number.
    static func isRange(_ lower: Value, _ upper: Value) -> Bool {
        switch (lower, upper) {
        case (.string(let lower), .string(let upper)):
            lower <= upper
                && lower.precomposedStringWithCanonicalMapping <= upper.precomposedStringWithCanonicalMapping
        case (.double(let lower), .double(let upper)): lower <= upper
        case (.date(let lower), .date(let upper)): lower <= upper
        default: !isBefore(upper, lower)
        }
    }

    /// Identifiers are ordered by their bytes.
    private static func isBefore(_ left: UUID, _ right: UUID) -> Bool {
        withUnsafeBytes(of: left.uuid) { left in
            withUnsafeBytes(of: right.uuid) { right in left.lexicographicallyPrecedes(right) }
        }
    }
}
