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
