/// `{"map": [list, rule]}`: what the rule gives for each element, which it sees as `{"var": ""}`. Of anything that is no
/// list it is the empty list.
struct MapOperator: RuleOperator {
    static let names = ["map"]

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
        var values: [FlagValue] = []
        values.reserveCapacity(elements.count)
        for element in elements {
            evaluation.frame = .value(element)
            values.append(try rule.evaluate(&evaluation))
        }
        evaluation.frame = outer
        return .list(values)
    }
}
