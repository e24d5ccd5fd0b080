/// `{"missing_some": [count, ["a", "b", "c"]]}`: the empty list if at least so many of the paths are there, else the
/// paths that are missing, as of ``MissingOperator``.
struct MissingSomeOperator: RuleOperator {
    static let names = ["missing_some"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let needed = try arguments.value(at: 0, &evaluation)
        let options = try arguments.value(at: 1, &evaluation)
        try evaluation.spend(onReading: needed)
        let keys: [FlagValue] = if case .list(let elements) = options { elements } else { [options] }
        let missing = try MissingOperator.missing(keys, &evaluation)
        let present = FlagValue.int(Int64(keys.count - missing.count))
        return needed.isLess(than: present, orEqual: true) ? [] : .list(missing)
    }
}
