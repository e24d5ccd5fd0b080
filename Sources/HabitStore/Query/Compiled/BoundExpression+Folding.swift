import Foundation

extension BoundExpression {
    /// The same with everything worked out that does not depend on records. What fails stays, to fail where it did.
    func folded() -> BoundExpression {
        switch self {
        case .literal, .attribute, .exists: return self
        case .not(let inner): return BoundExpression.not(inner.folded()).calculated
        case .and(let parts): return .foldedConjunction(parts)
        case .or(let parts): return .foldedDisjunction(parts)
        case .compare(let comparison, let left, let right):
            return .foldedComparison(comparison, left.folded(), right.folded())
        case .isIn(let member, let values):
            let member = member.folded()
            if values.isEmpty, !member.canFail { return .literal(.bool(false)) }
            return BoundExpression.isIn(member, values).calculated
        case .text(let test, let text, let part):
            return BoundExpression.text(test, text.folded(), part.folded()).calculated
        case .some(let collection, let inner): return .some(collection, inner.folded())
        case .every(let collection, let inner): return .every(collection, inner.folded())
        case .count(let collection, let inner): return .count(collection, inner.folded())
        case .length(let inner): return BoundExpression.length(inner.folded()).calculated
        case .least(let inner): return BoundExpression.least(inner.folded()).calculated
        case .greatest(let inner): return BoundExpression.greatest(inner.folded()).calculated
        case .caseInsensitiveOrder(let left, let right):
            return BoundExpression.caseInsensitiveOrder(left.folded(), right.folded()).calculated
        case .coalesce(let first, let second):
            let first = first.folded()
            guard case .literal(let value) = first else { return .coalesce(first, second.folded()) }
            return value.isNull ? second.folded() : first
        case .conditional(let test, let first, let second):
            let test = test.folded()
            guard case .literal(let value) = test else { return .conditional(test, first.folded(), second.folded()) }
            return value == .bool(true) ? first.folded() : second.folded()
        case .arithmetic(let operation, let left, let right):
            return BoundExpression.arithmetic(operation, left.folded(), right.folded()).calculated
        }
    }

    /// The value of an expression whose parts are constants.
    private var calculated: BoundExpression {
        guard parts.allSatisfy(\.isLiteral), let value = try? FilterEvaluator.value(of: self) else { return self }
        return .literal(value)
    }

    private var isLiteral: Bool {
        if case .literal = self { return true }
        return false
    }

    /// The expressions that it is made of, as far as that is asked for here.
    private var parts: [BoundExpression] {
        switch self {
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            return [inner]
        case .compare(_, let left, let right), .text(_, let left, let right), .arithmetic(_, let left, let right),
            .caseInsensitiveOrder(let left, let right):
            return [left, right]
        default: return [self]
        }
    }

    private static func foldedComparison(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression
    ) -> BoundExpression {
        let isOrdered = comparison != .equal && comparison != .notEqual
        // An order comparison with nil is false.
        if isOrdered, left == .literal(.null) || right == .literal(.null), !left.canFail, !right.canFail {
            return .literal(.bool(false))
        }
        return BoundExpression.compare(comparison, left, right).calculated
    }

    private static func foldedConjunction(_ parts: [BoundExpression]) -> BoundExpression {
        var kept: [BoundExpression] = []
        for part in parts {
            let part = part.folded()
            guard case .literal(let value) = part else {
                kept.append(part)
                continue
            }
            if value == .bool(true) { continue }
            // Later terms are never evaluated; earlier ones matter only if they can fail.
            guard kept.contains(where: \.canFail) else { return .literal(.bool(false)) }
            return .and(kept + [.literal(.bool(false))])
        }
        return kept.isEmpty ? .literal(.bool(true)) : .and(kept)
    }

    private static func foldedDisjunction(_ parts: [BoundExpression]) -> BoundExpression {
        var kept: [BoundExpression] = []
        for part in parts {
            let part = part.folded()
            guard case .literal(let value) = part else {
                kept.append(part)
                continue
            }
            if value != .bool(true) { continue }
            guard kept.contains(where: \.canFail) else { return .literal(.bool(true)) }
            return .or(kept + [.literal(.bool(true))])
        }
        return kept.isEmpty ? .literal(.bool(false)) : .or(kept)
    }
}
