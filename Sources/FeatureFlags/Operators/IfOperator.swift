/// `{"if": [condition, then, condition, then, …, else]}`: the value after the first condition that is true. Without
/// one it is the last value, where the count is odd, and null, where it is even.
struct IfOperator: RuleOperator {
    static let names = ["if"]

    private let branches: [(condition: Rule, value: Rule)]
    private let otherwise: Rule

    init(_ arguments: [Rule]) {
        branches = stride(from: 0, to: arguments.count - 1, by: 2).map { (arguments[$0], arguments[$0 + 1]) }
        otherwise = arguments.count % 2 == 1 ? arguments[arguments.count - 1] : .literal(.null)
    }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        for branch in branches where branch.condition.evaluate(in: scope).isTruthy {
            return branch.value.evaluate(in: scope)
        }
        return otherwise.evaluate(in: scope)
    }
}
