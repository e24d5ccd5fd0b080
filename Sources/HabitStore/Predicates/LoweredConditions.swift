import Foundation

extension PredicateExpressions.Conjunction: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(.all([try lowerValue(lhs, context), try lowerValue(rhs, context)]))
    }
}

extension PredicateExpressions.Disjunction: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(.or([try lowerValue(lhs, context), try lowerValue(rhs, context)]))
    }
}

extension PredicateExpressions.Negation: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered { .value(.not(try lowerValue(wrapped, context))) }
}

extension PredicateExpressions.Equal: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(try lowerEquality(lhs, rhs, .equal, LHS.Output.self, context))
    }
}

extension PredicateExpressions.NotEqual: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(try lowerEquality(lhs, rhs, .notEqual, LHS.Output.self, context))
    }
}

private func lowerEquality<Left: PredicateExpression, Right: PredicateExpression>(
    _ left: Left,
    _ right: Right,
    _ comparison: FilterExpression.Comparison,
    _ type: Any.Type,
    _ context: LoweringContext
) throws -> FilterExpression {
    let pair = (try lowerOperand(left, context), try lowerOperand(right, context))
    switch pair {
    case (.record(let path), .null), (.null, .record(let path)):
        return comparison == .equal ? .not(.exists(path)) : .exists(path)
    case (.constants(let values), .value(let expression)), (.value(let expression), .constants(let values)):
        return .compare(comparison, expression, .literal(try list(values, type)))
    default:
        return .compare(comparison, try value(pair.0), try value(pair.1))
    }
}

/// A captured list as the value of a list attribute of a type.
private func list(_ values: [Value], _ type: Any.Type) throws -> Value {
    if type == [String].self || type == [String]?.self {
        return .strings(
            try values.map { value in
                guard case .string(let text) = value else { throw NotLowerable() }
                return text
            }
        )
    }
    guard type == Set<UUID>.self else { throw NotLowerable() }
    return .links(
        try values.map { value in
            guard case .uuid(let id) = value else { throw NotLowerable() }
            return id
        }
    )
}

private func value(_ lowered: Lowered) throws -> FilterExpression {
    switch lowered {
    case .value(let expression): return expression
    case .null: return .literal(.null)
    case .record, .collection, .constants, .range: throw NotLowerable()
    }
}

extension PredicateExpressions.Comparison: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        // A type of the app may define an order that differs from that of its raw values.
        guard LHS.Output.self is any NativelyOrdered.Type else { throw NotLowerable() }
        if LHS.Output.self == String.self { context.texts.formMatters = true }
        let comparison: FilterExpression.Comparison
        switch op {
        case .lessThan: comparison = .less
        case .lessThanOrEqual: comparison = .lessOrEqual
        case .greaterThan: comparison = .greater
        case .greaterThanOrEqual: comparison = .greaterOrEqual
        @unknown default: throw NotLowerable()
        }
        return .value(.compare(comparison, try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.RangeExpressionContains: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Element.Output.self is any NativelyOrdered.Type,
            case .range(let lower, let upper, let includesUpper) = try lowerOperand(range, context)
        else { throw NotLowerable() }
        if Element.Output.self == String.self { context.texts.formMatters = true }
        let element = try lowerValue(element, context)
        return .value(
            .and([
                .compare(.greaterOrEqual, element, lower),
                .compare(includesUpper ? .lessOrEqual : .less, element, upper),
            ])
        )
    }
}

extension PredicateExpressions.Conditional: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(
            .conditional(
                try lowerValue(test, context),
                try lowerValue(trueBranch, context),
                try lowerValue(falseBranch, context)
            )
        )
    }
}

extension PredicateExpressions.NilCoalesce: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        .value(.coalesce(try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.OptionalFlatMap: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let wrapped = try lowerOperand(wrapped, context)
        var inner = context
        inner.bindings[variable.key] = wrapped
        let transformed = try lowerOperand(transform, inner)
        switch (wrapped, transformed) {
        case (.null, _): return .null
        case (_, .record), (_, .collection):
            // nil all the way along: a path through a missing record leads to no record, its collections are empty.
            guard case .record(let target) = transformed, case .record(let path) = wrapped,
                target.leads(through: path)
            else { throw NotLowerable() }
            return transformed
        case (.record(let path), .value(let expression)):
            if case .attribute(let attribute) = expression, attribute.record.leads(through: path) {
                return .value(expression)
            }
            return .value(.conditional(.exists(path), expression, .literal(.null)))
        case (.value(let value), .value(let expression)):
            if expression == value { return .value(expression) }
            return .value(
                .conditional(.compare(.notEqual, value, .literal(.null)), expression, .literal(.null))
            )
        default: throw NotLowerable()
        }
    }
}

extension PredicateExpressions.Arithmetic: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        // Numbers of other types are bounded elsewhere.
        guard Output.self == Int.self || Output.self == Double.self else { throw NotLowerable() }
        let operation: FilterExpression.Arithmetic
        switch op {
        case .add: operation = .add
        case .subtract: operation = .subtract
        case .multiply: operation = .multiply
        @unknown default: throw NotLowerable()
        }
        return .value(.arithmetic(operation, try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.IntDivision: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Output.self == Int.self else { throw NotLowerable() }
        return .value(.arithmetic(.divide, try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.FloatDivision: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Output.self == Double.self else { throw NotLowerable() }
        return .value(.arithmetic(.divide, try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.IntRemainder: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Output.self == Int.self else { throw NotLowerable() }
        return .value(.arithmetic(.remainder, try lowerValue(lhs, context), try lowerValue(rhs, context)))
    }
}

extension PredicateExpressions.UnaryMinus: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        let wrapped = try lowerValue(wrapped, context)
        if Output.self == Int.self { return .value(.arithmetic(.subtract, .literal(.int(0)), wrapped)) }
        // Not 0 - x, which would lose the sign of zero.
        guard Output.self == Double.self else { throw NotLowerable() }
        return .value(.arithmetic(.multiply, .literal(.double(-1)), wrapped))
    }
}

extension RecordPath {
    /// Whether the path continues the other one, so that it leads to no record if the other does not.
    fileprivate func leads(through other: RecordPath) -> Bool {
        variable == other.variable && hops.starts(with: other.hops)
    }
}

/// Types whose own `<` is the order of the values that are kept for them.
private protocol NativelyOrdered {}
extension Int: NativelyOrdered {}
extension Double: NativelyOrdered {}
extension String: NativelyOrdered {}
extension Date: NativelyOrdered {}
extension UUID: NativelyOrdered {}

extension PredicateExpressions.StringLocalizedStandardContains: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Root.Output.self == String.self, Other.Output.self == String.self else { throw NotLowerable() }
        context.texts.formMatters = true
        return .value(.text(.searches, try lowerValue(root, context), try lowerValue(other, context)))
    }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard Root.Output.self == String.self, Other.Output.self == String.self else { throw NotLowerable() }
        context.texts.formMatters = true
        return .value(.caseInsensitiveOrder(try lowerValue(root, context), try lowerValue(other, context)))
    }
}

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
