import Foundation

extension PredicateExpressions.SequenceContains: CheckedExpression {
    package var operands: [any PredicateExpression] { [sequence, element] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        let elements = try sequence.checkedValue(bindings)
        let element = try element.checkedValue(bindings)
        return elements.contains(element)
    }
}

extension PredicateExpressions.SequenceContainsWhere: CheckedExpression {
    package var operands: [any PredicateExpression] { [sequence, test] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try sequence.checkedValue(bindings).contains { try test.checkedValue(bindings.binding(variable, to: $0)) }
    }
}

extension PredicateExpressions.SequenceAllSatisfy: CheckedExpression {
    package var operands: [any PredicateExpression] { [sequence, test] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try sequence.checkedValue(bindings).allSatisfy { try test.checkedValue(bindings.binding(variable, to: $0)) }
    }
}

extension PredicateExpressions.Filter: CheckedExpression {
    package var operands: [any PredicateExpression] { [sequence, filter] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try sequence.checkedValue(bindings).filter { try filter.checkedValue(bindings.binding(variable, to: $0)) }
    }
}

extension PredicateExpressions.SequenceStartsWith: CheckedExpression {
    package var operands: [any PredicateExpression] { [base, prefix] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try base.checkedValue(bindings).starts(with: prefix.checkedValue(bindings))
    }
}

extension PredicateExpressions.CollectionContainsCollection: CheckedExpression {
    package var operands: [any PredicateExpression] { [base, other] }
    package func checked(_ bindings: PredicateBindings) throws -> Bool {
        try base.checkedValue(bindings).contains(other.checkedValue(bindings))
    }
}

extension PredicateExpressions.SequenceMinimum: CheckedExpression {
    package var operands: [any PredicateExpression] { [elements] }
    package func checked(_ bindings: PredicateBindings) throws -> Output { try elements.checkedValue(bindings).min() }
}

extension PredicateExpressions.SequenceMaximum: CheckedExpression {
    package var operands: [any PredicateExpression] { [elements] }
    package func checked(_ bindings: PredicateBindings) throws -> Output { try elements.checkedValue(bindings).max() }
}

extension PredicateExpressions.CollectionIndexSubscript: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped, index] }
    package var hazard: EvaluationHazard { .throwing }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let collection = try wrapped.checkedValue(bindings)
        let index = try index.checkedValue(bindings)
        guard index >= collection.startIndex, index < collection.endIndex else { throw PredicateError.invalidInput }
        return collection[index]
    }
}

extension PredicateExpressions.CollectionRangeSubscript: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped, range] }
    package var hazard: EvaluationHazard { .throwing }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let collection = try wrapped.checkedValue(bindings)
        let range = try range.checkedValue(bindings)
        guard range.lowerBound >= collection.startIndex, range.upperBound <= collection.endIndex else {
            throw PredicateError.invalidInput
        }
        return collection[range]
    }
}

extension PredicateExpressions.Range: CheckedExpression {
    package var operands: [any PredicateExpression] { [lower, upper] }
    package var hazard: EvaluationHazard { .trapping }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let (lower, upper) = (try lower.checkedValue(bindings), try upper.checkedValue(bindings))
        guard lower <= upper else { throw EvaluationTrap.rangeOutOfOrder }
        return lower..<upper
    }
}

extension PredicateExpressions.ClosedRange: CheckedExpression {
    package var operands: [any PredicateExpression] { [lower, upper] }
    package var hazard: EvaluationHazard { .trapping }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let (lower, upper) = (try lower.checkedValue(bindings), try upper.checkedValue(bindings))
        guard lower <= upper else { throw EvaluationTrap.rangeOutOfOrder }
        return lower...upper
    }
}
