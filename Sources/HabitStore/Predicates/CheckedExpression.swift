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

#if !canImport(Darwin)
// Foundation has these two on Apple's platforms only. With them the macro compiles the same predicates everywhere.

extension PredicateExpressions {
    /// `text.localizedStandardContains(part)` inside of a predicate: whether the part occurs in the text, letter case and
    /// diacritics aside.
    public struct StringLocalizedStandardContains<Root: PredicateExpression, Other: PredicateExpression>:
        PredicateExpression
    where Root.Output: StringProtocol, Other.Output: StringProtocol {
        /// A condition.
        public typealias Output = Bool
        /// The text.
        public let root: Root
        /// The part.
        public let other: Other

        /// Makes the expression.
        public init(root: Root, other: Other) {
            self.root = root
            self.other = other
        }

        /// Evaluates both, and searches.
        public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
            try root.evaluate(bindings).localizedStandardContains(other.evaluate(bindings))
        }
    }

    /// `text.caseInsensitiveCompare(other)` inside of a predicate.
    public struct StringCaseInsensitiveCompare<Root: PredicateExpression, Other: PredicateExpression>:
        PredicateExpression
    where Root.Output: StringProtocol, Other.Output: StringProtocol {
        /// An order.
        public typealias Output = ComparisonResult
        /// The first text.
        public let root: Root
        /// The second text.
        public let other: Other

        /// Makes the expression.
        public init(root: Root, other: Other) {
            self.root = root
            self.other = other
        }

        /// Evaluates both, and compares.
        public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
            try root.evaluate(bindings).caseInsensitiveCompare(other.evaluate(bindings))
        }
    }

    /// What `#Predicate` calls for `localizedStandardContains`.
    public static func build_localizedStandardContains<Root, Other>(
        _ root: Root,
        _ other: Other
    ) -> StringLocalizedStandardContains<Root, Other> { .init(root: root, other: other) }

    /// What `#Predicate` calls for `caseInsensitiveCompare`.
    public static func build_caseInsensitiveCompare<Root, Other>(
        _ root: Root,
        _ other: Other
    ) -> StringCaseInsensitiveCompare<Root, Other> { .init(root: root, other: other) }
}

extension PredicateExpressions.StringLocalizedStandardContains: Codable where Root: Codable, Other: Codable {}
extension PredicateExpressions.StringLocalizedStandardContains: Sendable where Root: Sendable, Other: Sendable {}
extension PredicateExpressions.StringLocalizedStandardContains: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}

extension PredicateExpressions.StringCaseInsensitiveCompare: Codable where Root: Codable, Other: Codable {}
extension PredicateExpressions.StringCaseInsensitiveCompare: Sendable where Root: Sendable, Other: Sendable {}
extension PredicateExpressions.StringCaseInsensitiveCompare: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
#endif
