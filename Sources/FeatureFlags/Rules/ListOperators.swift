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
