/// `{"cat": […]}`: the texts of all values in one text. Null is nothing, and a list is its texts with commas.
struct ConcatenateOperator: RuleOperator {
    static let names = ["cat"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var text = ""
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            if case .string(let part) = value {
                try evaluation.spend(part.utf8.count / 64)
                text += part
            } else {
                try evaluation.spend(onReading: value)
                text += value.joinedText
            }
        }
        return .string(text)
    }
}
