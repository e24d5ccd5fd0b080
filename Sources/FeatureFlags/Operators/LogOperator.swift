/// `{"log": value}`: the value, unchanged. It may contain parts of the context, so it is not logged; the explanation of an evaluation shows it.
struct LogOperator: RuleOperator {
    static let names = ["log"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try argument.evaluate(&evaluation)
    }
}
