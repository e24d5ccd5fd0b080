import Foundation

/// A node of a predicate that can be evaluated without ending the process: where Foundation's own `evaluate` traps (an
/// overflow, a division by zero, a range whose bounds are the wrong way round), ``checked(_:)`` throws.
///
/// Each of Foundation's expression types conforms. It gives what `evaluate` gives for everything that does not trap.
package protocol CheckedExpression<Output> {
    associatedtype Output

    /// The nodes below.
    var operands: [any PredicateExpression] { get }

    /// The hazard of the node alone, without its operands.
    var hazard: EvaluationHazard { get }

    /// The value.
    ///
    /// - Throws: ``EvaluationTrap`` where Foundation would trap; else what `evaluate` throws.
    func checked(_ bindings: PredicateBindings) throws -> Output
}

extension CheckedExpression {
    package var hazard: EvaluationHazard { .none }
}

/// How evaluating a predicate may go wrong.
package enum EvaluationHazard: Int, Comparable, Sendable {
    /// It always gives a value.
    case none
    /// It may throw.
    case throwing
    /// Foundation's `evaluate` may end the process.
    case trapping

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The worst hazard of any node of an expression. An unknown node may throw.
    package static func of(_ expression: any PredicateExpression) -> EvaluationHazard {
        guard let node = expression as? any CheckedExpression else { return .throwing }
        var worst = node.hazard
        for operand in node.operands where worst < .trapping { worst = max(worst, of(operand)) }
        return worst
    }
}

/// What Swift would have ended the process for.
package enum EvaluationTrap: Error {
    case overflow
    case divisionByZero
    case rangeOutOfOrder
}

extension PredicateExpression {
    /// The value, by checked evaluation; of a node that is not known here, by its own.
    package func checkedValue(_ bindings: PredicateBindings) throws -> Output {
        guard let node = self as? any CheckedExpression<Output> else { return try evaluate(bindings) }
        return try node.checked(bindings)
    }
}
