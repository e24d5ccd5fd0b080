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
        if let tests = try lowerElements(sequence, variable.key, test, context) { return .value(.any(tests)) }
        let (path, number, condition, test) = try lowerMembers(sequence, variable.key, test, context)
        try requireNoFailure(condition)
        return .value(.some(path, variable: number, .all([condition, test])))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        if let tests = try lowerElements(sequence, variable.key, test, context) { return .value(.all(tests)) }
        let (path, number, condition, test) = try lowerMembers(sequence, variable.key, test, context)
        try requireNoFailure(condition)
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

extension PredicateExpressions.SequenceMinimum: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        try lowerExtreme(elements, context) { .least($0) }
    }
}

extension PredicateExpressions.SequenceMaximum: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        try lowerExtreme(elements, context) { .greatest($0) }
    }
}

/// The least or greatest element of a list attribute. The Characters of a text have a different order, and captured lists are left
/// to Swift.
private func lowerExtreme(
    _ elements: any PredicateExpression,
    _ context: LoweringContext,
    _ make: (FilterExpression) -> FilterExpression
) throws -> Lowered {
    guard elements.givesList, case .value(let list) = try lowerOperand(elements, context) else { throw NotLowerable() }
    return .value(make(list))
}

extension PredicateExpression {
    /// Whether the value is of a type that list attributes have.
    fileprivate var givesList: Bool { Output.self == [String].self || Output.self == Set<UUID>.self }
}

/// The condition for each element of a captured list, with the element substituted; nil if it is not a captured list.
private func lowerElements<Elements: PredicateExpression, Test: PredicateExpression>(
    _ sequence: Elements,
    _ variable: PredicateExpressions.VariableID,
    _ test: Test,
    _ context: LoweringContext
) throws -> [FilterExpression]? {
    guard case .constants(let values) = try lowerOperand(sequence, context) else { return nil }
    guard values.count <= longestUnrolledList else { throw NotLowerable() }
    return try values.map { value in
        var inner = context
        inner.bindings[variable] = value.isNull ? .null : .value(.literal(value))
        return try lowerValue(test, inner)
    }
}

/// Longer lists are looked through by evaluating.
private let longestUnrolledList = 256

/// `filter` looks at every member before the first is tested, and fails where any of them does; `ANY` and `ALL` stop at
/// the first that decides.
private func requireNoFailure(_ condition: FilterExpression) throws {
    if condition.calculates { throw NotLowerable() }
}

/// Lowers a collection and a condition on its members, which are known by the number of the nesting depth.
private func lowerMembers<Members: PredicateExpression, Test: PredicateExpression>(
    _ sequence: Members,
    _ variable: PredicateExpressions.VariableID,
    _ test: Test,
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
