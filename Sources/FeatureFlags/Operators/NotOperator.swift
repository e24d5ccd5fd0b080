/// `{"!": value}`: whether the value is false.
struct NotOperator: RuleOperator {
    static let names = ["!"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(!(try argument.evaluate(&evaluation).isTruthy))
    }
}
