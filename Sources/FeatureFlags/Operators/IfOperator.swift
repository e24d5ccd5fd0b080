/// `{"if": [condition, then, condition, then, …, else]}`, also called `?:`: the value after the first condition that is
/// true. Without one it is the last value, where the count is odd, and null, where it is even.
struct IfOperator: RuleOperator {
    static let names = ["if", "?:"]

    private let branches: [(condition: Rule, value: Rule)]
    private let otherwise: Rule

    init(_ call: RuleCall) {
        let arguments = call.arguments
        branches = stride(from: 0, to: arguments.count - 1, by: 2).map { (arguments[$0], arguments[$0 + 1]) }
        otherwise = arguments.count % 2 == 1 ? arguments[arguments.count - 1] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        for (condition, value) in branches where try condition.evaluate(&evaluation).isTruthy {
            return try value.evaluate(&evaluation)
        }
        return try otherwise.evaluate(&evaluation)
    }
}
