/// `{"!==": [left, right]}`: the opposite of ``StrictEqualOperator``.
struct StrictNotEqualOperator: RuleOperator {
    static let names = ["!=="]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(!(try StrictEqualOperator.areEqual(arguments, &evaluation)))
    }
}
