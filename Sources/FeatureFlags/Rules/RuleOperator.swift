/// An operator of the rule language, with its compiled arguments.
///
/// A new operator is a type under `Operators` and a row in ``OperatorTable``.
protocol RuleOperator: Sendable {
    /// The names by which rules call it.
    static var names: [String] { get }

    /// Takes the call as it stands in the rule. A single argument without brackets is a list of one.
    init(_ call: RuleCall)

    /// Evaluates the arguments that it needs, and then itself. Bad input gives null, false or NaN, as the operator's
    /// definition says; the only way to fail is to exceed the limits of an evaluation.
    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue
}

/// One use of an operator in a rule.
struct RuleCall {
    /// The name, which tells apart the operators that share a type.
    let name: String
    let arguments: [Rule]
    /// How percentages are computed where the rule asks for them.
    let fractional: FractionalGeneration
}
