/// `{"-": [left, right]}`: the difference; `{"-": value}`: the number with the other sign.
struct SubtractOperator: RuleOperator {
    static let names = ["-"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard !arguments.isEmpty else { return JavaScriptNumber.notANumber.flagValue }
        let value = try arguments[0].evaluate(&evaluation)
        try evaluation.spend(onReading: value)
        let left = value.convertedNumber ?? .notANumber
        guard arguments.count > 1 else { return left.negated.flagValue }
        let other = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: other)
        return (left - (other.convertedNumber ?? .notANumber)).flagValue
    }
}
