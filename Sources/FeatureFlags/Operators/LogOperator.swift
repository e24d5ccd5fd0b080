/// `{"log": value}`: the value as it is. It may hold something of the context, and so it is written nowhere; the value
/// stands in the explanation of an evaluation.
struct LogOperator: RuleOperator {
    static let names = ["log"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try argument.evaluate(&evaluation)
    }
}
