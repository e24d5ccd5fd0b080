/// `{"===": [left, right]}`, `{"!==": [left, right]}`: JavaScript's strict equality, which takes no `1` for `"1"`, and its
/// opposite. A missing side is JavaScript's `undefined`: equal to another missing side, and to nothing else.
struct StrictEqualOperator: RuleOperator {
    static let names = ["===", "!=="]

    private let arguments: [Rule]
    private let isNegated: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isNegated = call.name == "!=="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(try areEqual(&evaluation) != isNegated)
    }

    private func areEqual(_ evaluation: inout Evaluation) throws(EvaluationFault) -> Bool {
        guard arguments.count > 1 else { return arguments.isEmpty }
        let left = try arguments[0].evaluate(&evaluation)
        return left.isStrictlyEqual(to: try arguments[1].evaluate(&evaluation))
    }
}
