@_spi(Engines) extension BoundExpression {
    /// The conditions that must all hold and by which an engine may narrow its search: those before the first that can
    /// fail where Swift would trap, since narrowing by a later one would pass over records whose failure Swift reports.
    public var narrowingConditions: [BoundExpression] {
        guard case .and(let parts) = self else { return canFail ? [] : [self] }
        return Array(parts.prefix { !$0.canFail })
    }

    /// Whether evaluating it can fail.
    public var canFail: Bool {
        switch self {
        case .literal, .attribute, .exists: return false
        case .arithmetic(_, let left, let right): return kind != .double || left.canFail || right.canFail
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            return inner.canFail
        case .and(let parts), .or(let parts): return parts.contains { $0.canFail }
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right):
            return left.canFail || right.canFail
        case .some(_, let inner), .every(_, let inner), .count(_, let inner): return inner.canFail
        case .conditional(let test, let first, let second): return test.canFail || first.canFail || second.canFail
        }
    }

    /// The kind of value that it gives; nil for a bare nil.
    var kind: AttributeKind? {
        switch self {
        case .literal(let value): return value.kind
        case .attribute(_, _, let kind, _): return kind
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every: return .bool
        case .count, .length, .caseInsensitiveOrder: return .int
        case .least(let list), .greatest(let list):
            switch list.kind {
            case .strings: return .string
            case .links: return .uuid
            default: return nil
            }
        case .coalesce(let first, let second): return first.kind ?? second.kind
        case .conditional(_, let first, let second): return first.kind ?? second.kind
        case .arithmetic(_, let left, let right): return left.kind ?? right.kind
        }
    }

    /// Whether every record fulfils it.
    public var isAlwaysTrue: Bool {
        switch self {
        case .literal(.bool(true)): return true
        case .and(let parts): return parts.allSatisfy(\.isAlwaysTrue)
        default: return false
        }
    }

    /// A condition of the form `attribute of the record asked for, comparison, constant`, turned so that the attribute
    /// is on the left; the form that indexes answer.
    public var rootComparison: (position: Int, comparison: FilterExpression.Comparison, value: Value)? {
        guard case .compare(let comparison, let left, let right) = self else { return nil }
        switch (left, right) {
        case (.attribute(let path, let position, _, _), .literal(let value)) where path.isRoot:
            return (position, comparison, value)
        case (.literal(let value), .attribute(let path, let position, _, _)) where path.isRoot:
            return (position, comparison.turned, value)
        default: return nil
        }
    }
}

extension FilterExpression.Comparison {
    /// The comparison with its sides exchanged.
    public var turned: FilterExpression.Comparison {
        switch self {
        case .equal, .notEqual: return self
        case .less: return .greater
        case .lessOrEqual: return .greaterOrEqual
        case .greater: return .less
        case .greaterOrEqual: return .lessOrEqual
        }
    }
}

extension FilterExpression {
    /// Whether something in it is calculated, which may fail; whether the numbers are whole is known only once it is
    /// bound.
    var calculates: Bool {
        switch self {
        case .literal, .attribute, .exists: false
        case .arithmetic: true
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            inner.calculates
        case .and(let parts), .or(let parts): parts.contains(where: \.calculates)
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right):
            left.calculates || right.calculates
        case .some(_, _, let inner), .every(_, _, let inner), .count(_, _, let inner): inner.calculates
        case .conditional(let test, let first, let second):
            test.calculates || first.calculates || second.calculates
        }
    }
}
