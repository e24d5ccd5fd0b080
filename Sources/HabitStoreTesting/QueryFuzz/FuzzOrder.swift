import Foundation
import HabitStore

/// A second, independent implementation of the declared order of values: the expected result of sorting.
enum FuzzOrder {
    /// The value of anything that an attribute can be.
    static func value(_ any: Any) throws -> Value {
        // Computed numbers may be ones that cannot be stored.
        if let number = any as? Double { return .double(number) }
        guard let convertible = any as? any AttributeConvertible else {
            throw FuzzTypeMismatch(wanted: "a value", found: "\(any)")
        }
        return try convertible.attributeValue()
    }

    /// Whether a filter's comparison is true.
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

    /// Whether one value comes before another of its kind; nil comes first.
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

    /// Whether Swift makes a range from two bounds, also once a filter has brought them into NFC: Swift orders text that is not in NFC differently,
    /// and NaN
    /// has no order.
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
