/// `{"<": [left, right]}`, `{"<=": [left, right]}`: JavaScript's order. With a third argument, whether the second lies
/// between the first and the third.
struct LessOperator: RuleOperator {
    static let names = ["<", "<="]

    private let arguments: [Rule]
    private let orEqual: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        orEqual = call.name == "<="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // A missing side is JavaScript's undefined, and that is NaN.
        guard arguments.count > 1 else { return false }
        let left = try arguments[0].evaluate(&evaluation)
        let middle = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: middle)
        guard left.isLess(than: middle, orEqual: orEqual) else { return false }
        guard arguments.count > 2 else { return true }
        let right = try arguments[2].evaluate(&evaluation)
        try evaluation.spend(onReading: right)
        return .bool(middle.isLess(than: right, orEqual: orEqual))
    }
}
