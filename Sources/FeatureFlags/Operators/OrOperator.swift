/// `{"or": […]}`: the first value that is true, or the last one. What follows it is not evaluated.
struct OrOperator: RuleOperator {
    static let names = ["or"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var value = FlagValue.null
        for argument in arguments {
            value = try argument.evaluate(&evaluation)
            if value.isTruthy { break }
        }
        return value
    }
}
