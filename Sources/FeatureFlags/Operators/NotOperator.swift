/// `{"!": value}`: whether the value is false.
struct NotOperator: RuleOperator {
    static let names = ["!"]

    private let arguments: [Rule]

    init(_ arguments: [Rule]) { self.arguments = arguments }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        .bool(!arguments.value(at: 0, in: scope).isTruthy)
    }
}
