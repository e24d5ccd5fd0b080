/// `{"==": [left, right]}`: JavaScript's loose equality.
struct EqualOperator: RuleOperator {
    static let names = ["=="]

    private let arguments: [Rule]

    init(_ arguments: [Rule]) { self.arguments = arguments }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        .bool(arguments.value(at: 0, in: scope).isLooselyEqual(to: arguments.value(at: 1, in: scope)))
    }
}
