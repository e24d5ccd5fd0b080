/// `{">": [left, right]}`, `{">=": [left, right]}`: JavaScript's order. There is no form with three arguments.
struct GreaterOperator: RuleOperator {
    static let names = [">", ">="]

    private let arguments: [Rule]
    private let orEqual: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        orEqual = call.name == ">="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // A missing side is JavaScript's undefined, and that is NaN.
        guard arguments.count > 1 else { return false }
        let left = try arguments[0].evaluate(&evaluation)
        let right = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: right)
        return .bool(right.isLess(than: left, orEqual: orEqual))
    }
}
