import Foundation

extension FilterCompiler {
    /// A value of any kind.
    mutating func value(_ expression: BoundExpression, _ scope: Scope) -> FilterValue {
        switch expression {
        case .literal(let value): return { _ in value }
        case .attribute:
            guard let place = place(expression, scope) else { return { _ in .null } }
            return { try place.value($0) }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every:
            let test = test(expression, scope)
            return { .bool(try test($0)) }
        case .count, .length, .caseInsensitiveOrder:
            let number = int(expression, scope)
            return { try number($0).map { .int($0) } ?? .null }
        case .least(let list):
            let list = value(list, scope)
            return { try list($0).extreme { $0 < 0 } }
        case .greatest(let list):
            let list = value(list, scope)
            return { try list($0).extreme { $0 > 0 } }
        case .coalesce(let first, let second):
            let (first, second) = (value(first, scope), value(second, scope))
            return { rows in
                let value = try first(rows)
                return value.isNull ? try second(rows) : value
            }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), value(first, scope), value(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (value(left, scope), value(right, scope))
            return { try operation.apply(try left($0), try right($0)) }
        }
    }

    // MARK: Whole numbers and truth values

    /// A whole number, or a truth value as 1 or 0.
    mutating func int(_ expression: BoundExpression, _ scope: Scope) -> FilterInt {
        switch expression {
        case .literal(let value):
            let number = value.wholeNumber
            return { _ in number }
        case .attribute(_, _, let kind, _):
            guard let place = place(expression, scope) else { return { _ in nil } }
            if kind == .bool { return { try place.bool($0) } }
            return kind == .int ? { try place.int($0) } : { _ in nil }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every:
            let test = test(expression, scope)
            return { try test($0) ? 1 : 0 }
        case .count(let collection, let inner): return count(collection, inner, scope)
        case .length(let inner): return length(inner, scope)
        case .caseInsensitiveOrder(let left, let right):
            let (left, right) = (value(left, scope), value(right, scope))
            return { try left($0).caseInsensitiveOrder(comparedWith: try right($0)).wholeNumber }
        case .coalesce(let first, let second):
            let (first, second) = (int(first, scope), int(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), int(first, scope), int(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (int(left, scope), int(right, scope))
            return { rows in
                let (left, right) = (try left(rows), try right(rows))
                guard let left, let right else { return nil }
                return try operation.apply(left, right)
            }
        case .least, .greatest: return { _ in nil }
        }
    }

    // MARK: Doubles and dates

    /// A double, or the seconds of a date.
    mutating func double(_ expression: BoundExpression, _ scope: Scope) -> FilterDouble {
        switch expression {
        case .literal(let value):
            let number = value.doubleOrSeconds
            return { _ in number }
        case .attribute:
            guard let place = place(expression, scope) else { return { _ in nil } }
            return { try place.double($0) }
        case .coalesce(let first, let second):
            let (first, second) = (double(first, scope), double(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), double(first, scope), double(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (double(left, scope), double(right, scope))
            return { rows in
                let (left, right) = (try left(rows), try right(rows))
                guard let left, let right else { return nil }
                return operation.apply(left, right)
            }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every, .count, .length, .caseInsensitiveOrder,
            .least, .greatest:
            return { _ in nil }
        }
    }

    // MARK: Identifiers

    /// An identifier.
    mutating func identifier(_ expression: BoundExpression, _ scope: Scope) -> FilterIdentifier {
        if let place = place(expression, scope) { return { try place.identifier($0) } }
        let value = value(expression, scope)
        return { rows in
            guard case .uuid(let id) = try value(rows) else { return nil }
            return IdentifierKey(id)
        }
    }

    // MARK: Text and data

    /// Text, or data.
    mutating func bytes(_ expression: BoundExpression, _ scope: Scope) -> FilterBytes {
        switch expression {
        case .literal(let value):
            guard let constant = value.constantBytes else { return { _ in nil } }
            return { _ in constant.bytes }
        case .attribute(_, _, let kind, _):
            guard let place = place(expression, scope) else { return { _ in nil } }
            let scratch = FilterScratch()
            return kind == .data ? { try place.data($0, scratch) } : { try place.text($0, scratch) }
        case .coalesce(let first, let second):
            let (first, second) = (bytes(first, scope), bytes(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), bytes(first, scope), bytes(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .least, .greatest:
            let (value, scratch) = (value(expression, scope), FilterScratch())
            return { rows in
                guard case .string(let text) = try value(rows) else { return nil }
                return scratch.keep(text)
            }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every, .count, .length, .caseInsensitiveOrder,
            .arithmetic:
            return { _ in nil }
        }
    }
}

extension Value {
    /// A whole number, or a truth value as 1 or 0; nil for others.
    var wholeNumber: Int64? {
        switch self {
        case .int(let number): return number
        case .bool(let flag): return flag ? 1 : 0
        case .null, .double, .string, .date, .uuid, .data, .strings, .links: return nil
        }
    }

    /// A double, or the seconds of a date; nil for others.
    var doubleOrSeconds: Double? {
        switch self {
        case .double(let number): return number
        case .date(let date): return date.timeIntervalSinceReferenceDate
        case .null, .int, .bool, .string, .uuid, .data, .strings, .links: return nil
        }
    }

    /// The UTF-8 of text, or data; nil for others.
    var constantBytes: OwnedBuffer<UInt8>? {
        switch self {
        case .string(let text): return OwnedBuffer(Array(text.utf8))
        case .data(let bytes): return OwnedBuffer(Array(bytes))
        case .null, .int, .bool, .double, .date, .uuid, .strings, .links: return nil
        }
    }
}
