/// `{"filter": [list, rule]}`: the elements for which the rule is true; it reads each as `{"var": ""}`. For anything but a list, the empty
/// list.
struct FilterOperator: RuleOperator {
    static let names = ["filter"]

    private let list: Rule
    private let rule: Rule

    init(_ call: RuleCall) {
        list = call.arguments.first ?? .literal(.null)
        rule = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard case .list(let elements) = try list.evaluate(&evaluation) else { return [] }
        try evaluation.spend(elements.count)
        let outer = evaluation.frame
        var kept: [FlagValue] = []
        for element in elements {
            evaluation.frame = .value(element)
            if try rule.evaluate(&evaluation).isTruthy { kept.append(element) }
        }
        evaluation.frame = outer
        return .list(kept)
    }
}
