/// `{"merge": […]}`: the elements of all lists in one list; a value that is not a list becomes an element.
struct MergeOperator: RuleOperator {
    static let names = ["merge"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var merged: [FlagValue] = []
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            if case .list(let elements) = value {
                try evaluation.spend(elements.count)
                merged.append(contentsOf: elements)
            } else {
                merged.append(value)
            }
        }
        return .list(merged)
    }
}
