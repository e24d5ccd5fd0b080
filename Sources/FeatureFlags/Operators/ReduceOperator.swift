/// `{"reduce": [list, rule, initial]}`: the rule's result for the last element; it reads each element as `current` and its previous result as
/// `accumulator`. For an empty list, or anything but a list, the initial value.
struct ReduceOperator: RuleOperator {
    static let names = ["reduce"]

    private let list: Rule
    private let rule: Rule
    private let initial: Rule

    init(_ call: RuleCall) {
        list = call.arguments.first ?? .literal(.null)
        rule = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
        initial = call.arguments.count > 2 ? call.arguments[2] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let value = try list.evaluate(&evaluation)
        var accumulator = try initial.evaluate(&evaluation)
        guard case .list(let elements) = value else { return accumulator }
        try evaluation.spend(elements.count)
        let outer = evaluation.frame
        for element in elements {
            evaluation.frame = .reduction(current: element, accumulator: accumulator)
            accumulator = try rule.evaluate(&evaluation)
            try evaluation.spend(onKeeping: accumulator)
        }
        evaluation.frame = outer
        return accumulator
    }
}
