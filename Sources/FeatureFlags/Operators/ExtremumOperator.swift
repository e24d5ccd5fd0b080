/// `{"max": […]}`, `{"min": […]}`: JavaScript's `Math.max` and `Math.min`. A value that is not a number makes the result NaN; without values, the
/// greatest is minus infinity and the least is infinity.
struct ExtremumOperator: RuleOperator {
    static let names = ["max", "min"]

    private let arguments: [Rule]
    private let isMaximum: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isMaximum = call.name == "max"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var extremum = JavaScriptNumber.double(isMaximum ? -.infinity : .infinity)
        var isNumber = true
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            guard let number = value.convertedNumber else {
                isNumber = false
                continue
            }
            if isMaximum ? extremum < number : number < extremum { extremum = number }
        }
        return (isNumber ? extremum : .notANumber).flagValue
    }
}
