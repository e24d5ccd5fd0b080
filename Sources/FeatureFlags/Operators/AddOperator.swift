/// `{"+": […]}`: the sum. Texts are read with JavaScript's `parseFloat`, so that `{"+": "3.14"}` turns one into a number.
struct AddOperator: RuleOperator {
    static let names = ["+"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var sum = JavaScriptNumber.int(0)
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            sum = sum + (value.parsedNumber ?? .notANumber)
        }
        return sum.flagValue
    }
}
