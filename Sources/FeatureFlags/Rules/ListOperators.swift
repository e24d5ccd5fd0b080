/// The operators that go through lists. For anything but a list, their result is that for the empty list.
enum ListOperators {
    /// `{"map": [list, rule]}`: what the rule gives for each element, which it sees as `{"var": ""}`.
    static func map(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var values: [FlagValue] = []
        try forEach(arguments, &evaluation) { _, value in
            values.append(value)
            return true
        }
        return .list(values)
    }

    /// `{"filter": [list, rule]}`: the elements for which the rule is true; it reads each as `{"var": ""}`.
    static func filter(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var kept: [FlagValue] = []
        try forEach(arguments, &evaluation) { element, value in
            if value.isTruthy { kept.append(element) }
            return true
        }
        return .list(kept)
    }

    /// `{"all": [list, rule]}`, `{"some": …}`, `{"none": …}`: for how many elements the rule is true; it reads each as
    /// `{"var": ""}`. For the empty list, only `none` is true.
    static let all = quantifier(decidedBy: false, as: false, ofNothing: false)
    static let some = quantifier(decidedBy: true, as: true, ofNothing: false)
    static let none = quantifier(decidedBy: true, as: false, ofNothing: true)

    /// - Parameters:
    ///   - truth: The rule's truth for the one element that decides.
    ///   - result: What is decided then.
    private static func quantifier(decidedBy truth: Bool, as result: Bool, ofNothing: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            var outcome = ofNothing
            try forEach(arguments, &evaluation) { _, value in
                outcome = value.isTruthy == truth ? result : !result
                return outcome != result
            }
            return .bool(outcome)
        }
    }

    /// `{"reduce": [list, rule, initial]}`: the rule's result for the last element; it reads each element as `current` and its
    /// previous result as `accumulator`. For the empty list, the initial value.
    static func reduce(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let list = try arguments.value(at: 0, &evaluation)
        var accumulator = try arguments.value(at: 2, &evaluation)
        guard case .list(let elements) = list else { return accumulator }
        try evaluation.spend(elements.count)
        let outer = evaluation.frame
        for element in elements {
            evaluation.frame = .reduction(current: element, accumulator: accumulator)
            accumulator = try arguments.value(at: 1, &evaluation)
            try evaluation.spend(onKeeping: accumulator)
        }
        evaluation.frame = outer
        return accumulator
    }

    /// `{"merge": […]}`: the elements of all lists in one list; a value that is not a list becomes an element.
    static func merge(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
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

    /// Evaluates the second argument for the elements of the first, until `visit` returns false.
    private static func forEach(
        _ arguments: [Rule],
        _ evaluation: inout Evaluation,
        _ visit: (_ element: FlagValue, _ value: FlagValue) -> Bool
    ) throws(EvaluationFault) {
        guard case .list(let elements) = try arguments.value(at: 0, &evaluation) else { return }
        try evaluation.spend(elements.count)
        let outer = evaluation.frame
        defer { evaluation.frame = outer }
        for element in elements {
            evaluation.frame = .value(element)
            guard visit(element, try arguments.value(at: 1, &evaluation)) else { return }
        }
    }
}
