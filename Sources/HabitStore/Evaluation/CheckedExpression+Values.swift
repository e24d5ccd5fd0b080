import Foundation

extension PredicateExpressions.Variable: CheckedExpression {
    package var operands: [any PredicateExpression] { [] }
    package func checked(_ bindings: PredicateBindings) throws -> Output { try evaluate(bindings) }
}

extension PredicateExpressions.Value: CheckedExpression {
    package var operands: [any PredicateExpression] { [] }
    package func checked(_ bindings: PredicateBindings) throws -> Output { value }
}

extension PredicateExpressions.NilLiteral: CheckedExpression {
    package var operands: [any PredicateExpression] { [] }
    package func checked(_ bindings: PredicateBindings) throws -> Output { try evaluate(bindings) }
}

extension PredicateExpressions.KeyPath: CheckedExpression {
    package var operands: [any PredicateExpression] { [root] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try root.checkedValue(bindings)[keyPath: keyPath as KeyPath<Root.Output, Output>]
    }
}

extension PredicateExpressions.NilCoalesce: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try lhs.checkedValue(bindings) ?? rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.ForcedUnwrap: CheckedExpression {
    package var operands: [any PredicateExpression] { [inner] }
    package var hazard: EvaluationHazard { .throwing }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        guard let value = try inner.checkedValue(bindings) else { throw PredicateError.forceUnwrapFailure }
        return value
    }
}

extension PredicateExpressions.OptionalFlatMap: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped, transform] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        guard let value = try wrapped.checkedValue(bindings) else { return nil }
        // The transform gives a result or an optional one; the initialisers allow nothing else.
        return try transform.checkedValue(bindings.binding(variable, to: value)) as? Result
    }
}

extension PredicateExpressions.Conditional: CheckedExpression {
    package var operands: [any PredicateExpression] { [test, trueBranch, falseBranch] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try test.checkedValue(bindings) ? trueBranch.checkedValue(bindings) : falseBranch.checkedValue(bindings)
    }
}

extension PredicateExpressions.ConditionalCast: CheckedExpression {
    package var operands: [any PredicateExpression] { [input] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try input.checkedValue(bindings) as? Desired
    }
}

extension PredicateExpressions.ForceCast: CheckedExpression {
    package var operands: [any PredicateExpression] { [input] }
    package var hazard: EvaluationHazard { .throwing }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        guard let value = try input.checkedValue(bindings) as? Desired else { throw PredicateError.forceCastFailure }
        return value
    }
}

extension PredicateExpressions.TypeCheck: CheckedExpression {
    package var operands: [any PredicateExpression] { [input] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try input.checkedValue(bindings) is Desired
    }
}

extension PredicateExpressions.DictionaryKeySubscript: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped, key] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try wrapped.checkedValue(bindings)[key.checkedValue(bindings)]
    }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped, key, `default`] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try wrapped.checkedValue(bindings)[key.checkedValue(bindings)] ?? `default`.checkedValue(bindings)
    }
}
