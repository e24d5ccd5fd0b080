import Foundation

extension PredicateExpressions.Arithmetic: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package var hazard: EvaluationHazard { hazardOfArithmetic(Output.self) }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let (left, right) = (try lhs.checkedValue(bindings), try rhs.checkedValue(bindings))
        let operation: FilterExpression.Arithmetic
        switch op {
        case .add: operation = .add
        case .subtract: operation = .subtract
        case .multiply: operation = .multiply
        @unknown default: return try evaluate(bindings)
        }
        if let result = try calculate(operation, left, right) { return result }
        switch operation {
        case .add: return left + right
        case .subtract: return left - right
        case .multiply, .divide, .remainder: return left * right
        }
    }
}

extension PredicateExpressions.IntDivision: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package var hazard: EvaluationHazard { .trapping }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let (left, right) = (try lhs.checkedValue(bindings), try rhs.checkedValue(bindings))
        if right == 0 { throw EvaluationTrap.divisionByZero }
        return try calculate(.divide, left, right) ?? left / right
    }
}

extension PredicateExpressions.IntRemainder: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package var hazard: EvaluationHazard { .trapping }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let (left, right) = (try lhs.checkedValue(bindings), try rhs.checkedValue(bindings))
        if right == 0 { throw EvaluationTrap.divisionByZero }
        return try calculate(.remainder, left, right) ?? left % right
    }
}

extension PredicateExpressions.FloatDivision: CheckedExpression {
    package var operands: [any PredicateExpression] { [lhs, rhs] }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        try lhs.checkedValue(bindings) / rhs.checkedValue(bindings)
    }
}

extension PredicateExpressions.UnaryMinus: CheckedExpression {
    package var operands: [any PredicateExpression] { [wrapped] }
    package var hazard: EvaluationHazard { hazardOfArithmetic(Output.self) }
    package func checked(_ bindings: PredicateBindings) throws -> Output {
        let value = try wrapped.checkedValue(bindings)
        return try calculate(.subtract, 0, value) ?? -value
    }
}

private func hazardOfArithmetic<T>(_ type: T.Type) -> EvaluationHazard {
    type is any FixedWidthInteger.Type ? .trapping : .none
}

/// The result for integers of a fixed width; nil for other numbers, on which Swift does not trap.
private func calculate<T>(_ operation: FilterExpression.Arithmetic, _ left: T, _ right: T) throws -> T? {
    guard let left = left as? any FixedWidthInteger else { return nil }
    return try calculateIntegers(operation, left, right) as? T
}

private func calculateIntegers<I: FixedWidthInteger, T>(
    _ operation: FilterExpression.Arithmetic,
    _ left: I,
    _ right: T
) throws -> I? {
    guard let right = right as? I else { return nil }
    let result: (I, Bool)
    switch operation {
    case .add: result = left.addingReportingOverflow(right)
    case .subtract: result = left.subtractingReportingOverflow(right)
    case .multiply: result = left.multipliedReportingOverflow(by: right)
    case .divide: result = left.dividedReportingOverflow(by: right)
    case .remainder: result = left.remainderReportingOverflow(dividingBy: right)
    }
    guard !result.1 else { throw EvaluationTrap.overflow }
    return result.0
}
