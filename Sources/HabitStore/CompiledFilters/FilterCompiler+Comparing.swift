extension FilterCompiler {
    /// A comparison, by the kind of its sides.
    mutating func compare(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        if case .literal = left, case .literal = right { return compareValues(comparison, left, right, scope) }
        if case .literal = left { return compare(comparison.turned, right, left, scope) }
        if case .literal(.null) = right, let test = nullTest(comparison, left, scope) { return test }
        // A condition that may be nil holds where it is true, and that is all that was asked for.
        if comparison == .equal, right == .literal(.bool(true)), left.kind == .bool { return test(left, scope) }
        guard let kind = left.kind, let other = right.kind, kind == other else {
            return compareValues(comparison, left, right, scope)
        }
        switch kind {
        case .int, .bool: return compareInts(comparison, left, right, scope)
        case .double, .date: return compareDoubles(comparison, left, right, scope)
        case .uuid: return compareIdentifiers(comparison, left, right, scope)
        case .string, .data: return compareBytes(comparison, left, right, scope)
        case .strings, .links: return compareValues(comparison, left, right, scope)
        }
    }

    /// A comparison with nil that does not read the value.
    private mutating func nullTest(
        _ comparison: FilterExpression.Comparison,
        _ attribute: BoundExpression,
        _ scope: Scope
    ) -> FilterTest? {
        guard case .attribute(_, _, let kind, _) = attribute, kind != .links, let place = place(attribute, scope) else {
            return nil
        }
        switch comparison {
        case .equal: return { try !place.isPresent($0) }
        case .notEqual: return { try place.isPresent($0) }
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return { _ in false }
        }
    }

    private mutating func compareValues(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        let (left, right) = (value(left, scope), value(right, scope))
        return { comparison.holds(try left($0), try right($0)) }
    }

    private mutating func compareInts(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        guard case .literal(let value) = right, let constant = value.wholeNumber else {
            let (left, right) = (int(left, scope), int(right, scope))
            return { comparison.holds(optional: try left($0), try right($0)) }
        }
        let range = FilterRange(comparison, constant)
        switch left {
        case .attribute(_, _, .int, _):
            if let place = place(left, scope) { return { range.holds(try place.int($0)) } }
        case .count(let collection, let inner): return count(collection, inner, isIn: range, scope)
        case .length(let inner): return length(inner, isIn: range, scope)
        default: break
        }
        let left = int(left, scope)
        return { range.holds(try left($0)) }
    }

    private mutating func compareDoubles(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        guard case .literal(let value) = right, let constant = value.doubleOrSeconds, constant.isFinite else {
            let (left, right) = (double(left, scope), double(right, scope))
            return { comparison.holds(optional: try left($0), try right($0)) }
        }
        let range = FilterRange(comparison, constant)
        if let place = place(left, scope) { return { range.holds(try place.double($0)) } }
        if case .coalesce(let attribute, .literal(let value)) = left, let fallback = value.doubleOrSeconds,
            attribute.kind == left.kind, let place = place(attribute, scope)
        {
            let otherwise = range.holds(fallback)
            return { rows in
                guard let number = try place.double(rows) else { return otherwise }
                return range.holds(number)
            }
        }
        let left = double(left, scope)
        return { range.holds(try left($0)) }
    }

    private mutating func compareIdentifiers(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        if case .literal(.uuid(let id)) = right, let place = place(left, scope) {
            let constant = IdentifierKey(id)
            if comparison == .equal { return { try place.identifier($0) == constant } }
            if comparison == .notEqual { return { try place.identifier($0) != constant } }
        }
        let (left, right) = (identifier(left, scope), identifier(right, scope))
        return { rows in
            switch (try left(rows), try right(rows)) {
            case (let left?, let right?): return comparison.holds(left.order(comparedWith: right), 0)
            case (nil, nil): return comparison == .equal
            default: return comparison == .notEqual
            }
        }
    }

    private mutating func compareBytes(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        if case .literal(let value) = right, let constant = value.constantBytes {
            let left = bytes(left, scope)
            let isNotEqual = comparison == .notEqual
            if isNotEqual || comparison == .equal {
                return { rows in
                    guard let bytes = try left(rows) else { return isNotEqual }
                    return ByteText.areEqual(bytes, constant.bytes) != isNotEqual
                }
            }
            return { rows in
                guard let bytes = try left(rows) else { return false }
                return comparison.holds(ByteText.order(bytes, constant.bytes), 0)
            }
        }
        let (left, right) = (bytes(left, scope), bytes(right, scope))
        return { rows in
            switch (try left(rows), try right(rows)) {
            case (let left?, let right?): return comparison.holds(ByteText.order(left, right), 0)
            case (nil, nil): return comparison == .equal
            default: return comparison == .notEqual
            }
        }
    }
}

extension FilterExpression.Comparison {
    /// Whether the comparison holds; nil equals nil only, and an order comparison with nil is false.
    @inline(__always)
    fileprivate func holds<T: Comparable>(optional left: T?, _ right: T?) -> Bool {
        switch (left, right) {
        case (let left?, let right?): return holds(left, right)
        case (nil, nil): return self == .equal
        default: return self == .notEqual
        }
    }
}

/// A condition that bounds a number: `value >= 2`, and with its neighbour `value >= 2 AND value < 5`.
struct AttributeRange {
    /// The numbers that are let through.
    enum Numbers {
        case ints(FilterRange<Int64>)
        case doubles(FilterRange<Double>)
    }

    /// The attribute, at the end of whatever path.
    let attribute: BoundExpression
    /// The values in the range.
    let numbers: Numbers

    private init(_ attribute: BoundExpression, _ numbers: Numbers) {
        self.attribute = attribute
        self.numbers = numbers
    }

    /// The range of a comparison of an attribute with a constant number; nil for other conditions.
    init?(_ condition: BoundExpression) {
        guard case .compare(let comparison, let left, let right) = condition else { return nil }
        switch (left, right) {
        case (.attribute(_, _, let kind, _), .literal(let value)): self.init(left, kind, comparison, value)
        case (.literal(let value), .attribute(_, _, let kind, _)): self.init(right, kind, comparison.turned, value)
        default: return nil
        }
    }

    private init?(
        _ attribute: BoundExpression,
        _ kind: AttributeKind,
        _ comparison: FilterExpression.Comparison,
        _ value: Value
    ) {
        switch (kind, value) {
        case (.int, .int(let number)): self.init(attribute, .ints(FilterRange(comparison, number)))
        case (.double, .double(let number)) where number.isFinite:
            self.init(attribute, .doubles(FilterRange(comparison, number)))
        case (.date, .date(let date)) where date.timeIntervalSinceReferenceDate.isFinite:
            self.init(attribute, .doubles(FilterRange(comparison, date.timeIntervalSinceReferenceDate)))
        default: return nil
        }
    }

    /// Both conditions in one; nil if they concern different attributes or do not form a range.
    func intersection(_ other: AttributeRange?) -> AttributeRange? {
        guard let other, other.attribute == attribute else { return nil }
        switch (numbers, other.numbers) {
        case (.ints(let mine), .ints(let others)):
            return mine.intersection(others).map { AttributeRange(attribute, .ints($0)) }
        case (.doubles(let mine), .doubles(let others)):
            return mine.intersection(others).map { AttributeRange(attribute, .doubles($0)) }
        default: return nil
        }
    }
}

/// The numbers that a comparison with a constant lets through: those from one to another, or those outside of them.
struct FilterRange<Number: Comparable & BitwiseCopyable> {
    /// The least.
    var least: Number
    /// The greatest; less than the least when there is no such number.
    var greatest: Number
    /// Whether the others are let through, and nil with them.
    var isInverted = false

    /// Whether a value is let through.
    @inline(__always)
    func holds(_ value: Number?) -> Bool {
        guard let value else { return isInverted }
        return (value >= least && value <= greatest) != isInverted
    }

    /// The values in both ranges; nil if they are not a range.
    func intersection(_ other: FilterRange) -> FilterRange? {
        guard !isInverted, !other.isInverted else { return nil }
        return FilterRange(least: max(least, other.least), greatest: min(greatest, other.greatest))
    }
}

extension FilterRange where Number == Int64 {
    /// The values that satisfy a comparison with a constant on its right side.
    init(_ comparison: FilterExpression.Comparison, _ constant: Int64) {
        let none = FilterRange(least: 1, greatest: 0)
        switch comparison {
        case .equal: self.init(least: constant, greatest: constant)
        case .notEqual: self.init(least: constant, greatest: constant, isInverted: true)
        case .less: self = constant == .min ? none : .init(least: .min, greatest: constant - 1)
        case .lessOrEqual: self.init(least: .min, greatest: constant)
        case .greater: self = constant == .max ? none : .init(least: constant + 1, greatest: .max)
        case .greaterOrEqual: self.init(least: constant, greatest: .max)
        }
    }
}

extension FilterRange where Number == Double {
    /// The values that satisfy a comparison with a finite constant on its right side. As in IEEE 754, NaN satisfies only `!=`.
    init(_ comparison: FilterExpression.Comparison, _ constant: Double) {
        switch comparison {
        case .equal: self.init(least: constant, greatest: constant)
        case .notEqual: self.init(least: constant, greatest: constant, isInverted: true)
        case .less: self.init(least: -.infinity, greatest: constant.nextDown)
        case .lessOrEqual: self.init(least: -.infinity, greatest: constant)
        case .greater: self.init(least: constant.nextUp, greatest: .infinity)
        case .greaterOrEqual: self.init(least: constant, greatest: .infinity)
        }
    }
}
