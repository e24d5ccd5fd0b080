/// `{"var": "path"}`, `{"var": ["path", default]}`: a value from the context.
///
/// A path that leads nowhere gives the default, or null. A null at its end is a value and is given as it is.
struct VariableOperator: RuleOperator {
    static let names = ["var"]

    private enum Path {
        case fixed(VariablePath)
        case computed(Rule)
    }

    private let path: Path
    private let defaultRule: Rule

    init(_ arguments: [Rule]) {
        switch arguments.first {
        case .none: path = .fixed(VariablePath(""))
        case .literal(let value): path = .fixed(VariablePath(value))
        case .some(let rule): path = .computed(rule)
        }
        defaultRule = arguments.count > 1 ? arguments[1] : .literal(.null)
    }

    func evaluate(in scope: EvaluationScope) -> FlagValue {
        let found =
            switch path {
            case .fixed(let path): scope.value(at: path)
            case .computed(let rule): scope.value(at: VariablePath(rule.evaluate(in: scope)))
            }
        return found ?? defaultRule.evaluate(in: scope)
    }
}
