/// `{"==": [left, right]}`, `{"!=": [left, right]}`: JavaScript's loose equality, and its opposite. A missing side is equal
/// to null.
struct EqualOperator: RuleOperator {
    static let names = ["==", "!="]

    private let left: Rule
    private let right: Rule
    private let isNegated: Bool

    init(_ call: RuleCall) {
        left = call.arguments.first ?? .literal(.null)
        right = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
        isNegated = call.name == "!="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let left = try left.evaluate(&evaluation)
        let right = try right.evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: right)
        return .bool(left.isLooselyEqual(to: right) != isNegated)
    }
}
