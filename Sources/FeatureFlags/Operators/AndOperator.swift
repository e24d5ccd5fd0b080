/// `{"and": […]}`: the first value that is false, or the last one. What follows it is not evaluated.
struct AndOperator: RuleOperator {
    static let names = ["and"]

    private let arguments: [Rule]

    init(_ arguments: [Rule]) { self.arguments = arguments }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        var value = FlagValue.null
        for argument in arguments {
            value = argument.evaluate(in: scope)
            if !value.isTruthy { break }
        }
        return value
    }
}
