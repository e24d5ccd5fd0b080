/// A targeting rule, compiled.
enum Rule: Sendable {
    /// A value that stands in the file.
    case literal(FlagValue)
    /// A list with at least one element that has to be computed.
    case list([Rule])
    /// An operator with its arguments.
    case operation(RuleOperation)

    /// A list of rules; a list of literals is a literal.
    static func listing(_ rules: [Rule]) -> Rule {
        var values: [FlagValue] = []
        for rule in rules {
            guard case .literal(let value) = rule else { return .list(rules) }
            values.append(value)
        }
        return .literal(.list(values))
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        switch self {
        case .literal(let value):
            return value
        case .list(let rules):
            try evaluation.spend(rules.count)
            return .list(try rules.values(&evaluation))
        case .operation(let operation):
            return try operation.evaluate(&evaluation)
        }
    }
}

extension [Rule] {
    /// The value of the argument at `index`; JsonLogic reads a missing one as null.
    func value(at index: Int, _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        index < count ? try self[index].evaluate(&evaluation) : .null
    }

    /// The values of all.
    func values(_ evaluation: inout Evaluation) throws(EvaluationFault) -> [FlagValue] {
        var values: [FlagValue] = []
        values.reserveCapacity(count)
        for rule in self { values.append(try rule.evaluate(&evaluation)) }
        return values
    }
}
