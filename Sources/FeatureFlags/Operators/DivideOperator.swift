/// `{"/": [left, right]}`: the quotient; `{"%": [left, right]}`: the remainder, with the sign of the left side. Without
/// a right side both are NaN.
struct DivideOperator: RuleOperator {
    static let names = ["/", "%"]

    private let arguments: [Rule]
    private let isRemainder: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isRemainder = call.name == "%"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count > 1 else { return JavaScriptNumber.notANumber.flagValue }
        let dividend = try arguments[0].evaluate(&evaluation)
        let divisor = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: dividend)
        try evaluation.spend(onReading: divisor)
        let left = dividend.convertedNumber ?? .notANumber
        let right = divisor.convertedNumber ?? .notANumber
        return (isRemainder ? left % right : left / right).flagValue
    }
}
