/// `{"===": [left, right]}`: JavaScript's strict equality, which takes no `1` for `"1"`. A missing side is JavaScript's
/// `undefined`: equal to another missing side, and to nothing else.
struct StrictEqualOperator: RuleOperator {
    static let names = ["==="]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(try Self.areEqual(arguments, &evaluation))
    }

    static func areEqual(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> Bool {
        guard arguments.count > 1 else { return arguments.isEmpty }
        let left = try arguments[0].evaluate(&evaluation)
        return left.isStrictlyEqual(to: try arguments[1].evaluate(&evaluation))
    }
}
