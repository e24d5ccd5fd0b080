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
