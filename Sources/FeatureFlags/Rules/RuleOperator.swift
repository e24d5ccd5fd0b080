/// An operator of the rule language, holding its compiled arguments.
///
/// A new operator is a type in a file of its own under `Operators` and a row in ``OperatorTable``.
protocol RuleOperator: Sendable {
    /// The names by which rules call it.
    static var names: [String] { get }

    /// Takes the arguments as they stand in the rule. A single argument without brackets is a list of one.
    init(_ arguments: [Rule])

    /// Evaluates the arguments that it needs, and then itself. Bad input gives null or false, as the operator's
    /// definition says: a rule never fails.
    func evaluate(in scope: EvaluationScope) -> FlagValue
}

extension [Rule] {
    /// The value of the argument at `index`; JsonLogic reads one that is missing as null.
    func value(at index: Int, in scope: EvaluationScope) -> FlagValue {
        index < count ? self[index].evaluate(in: scope) : .null
    }
}
