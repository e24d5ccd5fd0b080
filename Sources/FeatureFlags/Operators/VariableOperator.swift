/// `{"var": "path"}`, `{"var": ["path", default]}`: a value from the context.
///
/// A path that leads nowhere gives the default, or null. A null at its end is a value, and is returned.
struct VariableOperator: RuleOperator {
    static let names = ["var"]

    private enum Path {
        case fixed(VariablePath)
        case computed(Rule)
    }

    private let path: Path
    private let defaultRule: Rule

    init(_ call: RuleCall) {
        switch call.arguments.first {
        case .none: path = .fixed(VariablePath(""))
        case .literal(let value): path = .fixed(VariablePath(value))
        case .some(let rule): path = .computed(rule)
        }
        defaultRule = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let found: FlagValue?
        switch path {
        case .fixed(let path):
            found = try evaluation.value(at: path)
        case .computed(let rule):
            let value = try rule.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            found = try evaluation.value(at: VariablePath(value))
        }
        if let found { return found }
        return try defaultRule.evaluate(&evaluation)
    }
}
