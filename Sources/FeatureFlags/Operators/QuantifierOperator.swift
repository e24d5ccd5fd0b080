/// `{"all": [list, rule]}`, `{"some": …}`, `{"none": …}`: for how many elements the rule is true; it reads each as `{"var": ""}`. For an empty list,
/// or anything but a list, only `none` is true.
struct QuantifierOperator: RuleOperator {
    static let names = ["all", "some", "none"]

    private let list: Rule
    private let rule: Rule
    /// The truth of one element that decides, and what is decided then.
    private let deciding: (truth: Bool, result: Bool)
    private let ofNothing: Bool

    init(_ call: RuleCall) {
        list = call.arguments.first ?? .literal(.null)
        rule = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
        switch call.name {
        case "all": deciding = (truth: false, result: false)
        case "some": deciding = (truth: true, result: true)
        default: deciding = (truth: true, result: false)
        }
        ofNothing = call.name == "none"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard case .list(let elements) = try list.evaluate(&evaluation), !elements.isEmpty else {
            return .bool(ofNothing)
        }
        try evaluation.spend(elements.count)
        let outer = evaluation.frame
        defer { evaluation.frame = outer }
        for element in elements {
            evaluation.frame = .value(element)
            if try rule.evaluate(&evaluation).isTruthy == deciding.truth { return .bool(deciding.result) }
        }
        return .bool(!deciding.result)
    }
}
