/// `{"!!": value}`: whether the value is true.
struct DoubleNotOperator: RuleOperator {
    static let names = ["!!"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(try argument.evaluate(&evaluation).isTruthy)
    }
}
