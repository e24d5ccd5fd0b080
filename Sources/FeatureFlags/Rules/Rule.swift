/// A targeting rule, compiled.
enum Rule: Sendable {
    /// A value that stands in the file.
    case literal(FlagValue)
    /// A list with at least one element that has to be computed.
    case list([Rule])
    /// An operator with its arguments.
    case operation(any RuleOperator)

    /// A list of rules; a list of literals is a literal.
    static func listing(_ rules: [Rule]) -> Rule {
        var values: [FlagValue] = []
        for rule in rules {
            guard case .literal(let value) = rule else { return .list(rules) }
            values.append(value)
        }
        return .literal(.list(values))
    }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        switch self {
        case .literal(let value): value
        case .list(let rules): .list(rules.map { $0.evaluate(in: scope) })
        case .operation(let operation): operation.evaluate(in: scope)
        }
    }
}
