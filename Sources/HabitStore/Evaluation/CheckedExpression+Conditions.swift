import Foundation

extension PredicateExpressions.Conjunction: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try lhs.checkedValue(bindings) && rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.Disjunction: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try lhs.checkedValue(bindings) || rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.Negation: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool { try !wrapped.checkedValue(bindings) }
}

extension PredicateExpressions.Equal: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try lhs.checkedValue(bindings) == rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.NotEqual: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try lhs.checkedValue(bindings) != rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.Comparison: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        let (left, right) = (try lhs.checkedValue(bindings), try rhs.checkedValue(bindings))
        switch op {
        case .lessThan: return left < right
        case .lessThanOrEqual: return left <= right
        case .greaterThan: return left > right
        case .greaterThanOrEqual: return left >= right
        @unknown default: return try evaluate(bindings)
        }
    }
}

extension PredicateExpressions.RangeExpressionContains: CheckedExpression {
    package var operands: [any PredicateExpression] { [range, element] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try range.checkedValue(bindings).contains(element.checkedValue(bindings))
    }
}

extension PredicateExpressions.StringContainsRegex: CheckedExpression {
    package var operands: [any PredicateExpression] { [subject, regex] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try subject.checkedValue(bindings).contains(regex.checkedValue(bindings))
    }
}

extension PredicateExpressions.StringLocalizedStandardContains: CheckedExpression {
    package var operands: [any PredicateExpression] { [root, other] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try root.checkedValue(bindings).localizedStandardContains(other.checkedValue(bindings))
    }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: CheckedExpression {
    package var operands: [any PredicateExpression] { [root, other] }
    package func checked(_ bindings: PredicateBindings) throws -> ComparisonResult {
        try root.checkedValue(bindings).caseInsensitiveCompare(other.checkedValue(bindings))
    }
}
