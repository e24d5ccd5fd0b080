import Foundation

extension PredicateExpressions.SequenceContains: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let element = try lowerValue(element, context)
        switch try lowerOperand(sequence, context) {
        case .constants(let values): return .value(.isIn(element, values))
        case .value(let expression): return .value(.text(.contains, expression, element))
        default: throw NotLowerable()
        }
    }
}

extension PredicateExpressions.CollectionContainsCollection: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Base.Output.self == String.self, Other.Output.self == String.self else { throw NotLowerable() }
        return .value(.text(.contains, try lowerValue(base, context), try lowerValue(other, context)))
    }
}

extension PredicateExpressions.SequenceStartsWith: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Base.Output.self == String.self, Prefix.Output.self == String.self else { throw NotLowerable() }
        return .value(.text(.beginsWith, try lowerValue(base, context), try lowerValue(prefix, context)))
    }
}

extension PredicateExpressions.SequenceContainsWhere: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let (path, number, condition, test) = try lowerMembers(sequence, variable.key, test, context)
        return .value(.some(path, variable: number, .all([condition, test])))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let (path, number, condition, test) = try lowerMembers(sequence, variable.key, test, context)
        let every = condition == .always ? test : .or([.not(condition), test])
        return .value(.every(path, variable: number, every))
    }
}

extension PredicateExpressions.Filter: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let (path, number, condition, test) = try lowerMembers(sequence, variable.key, filter, context)
        return .collection(path, variable: number, .all([condition, test]))
    }
}

/// Lowers a collection and a condition on its members, which are known by the number of the nesting depth.
private func lowerMembers(
    _ sequence: Any,
    _ variable: PredicateExpressions.VariableID,
    _ test: Any,
    _ context: LoweringContext
) throws -> (CollectionPath, Int, FilterExpression, FilterExpression) {
    guard case .collection(let path, let number, let condition) = try lowerOperand(sequence, context) else {
        throw NotLowerable()
    }
    var inner = context
    inner.depth = number
    inner.bindings[variable] = .record(RecordPath(variable: number))
    return (path, number, condition, try lowerValue(test, inner))
}
