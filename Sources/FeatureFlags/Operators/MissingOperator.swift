/// `{"missing": ["a", "b.c"]}`: those of the paths that lead to nothing, to null or to the empty text. A list as the
/// first argument is taken for the list of the paths, so that it can be computed.
struct MissingOperator: RuleOperator {
    static let names = ["missing"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var keys = try arguments.values(&evaluation)
        if case .list(let first) = keys.first { keys = first }
        return .list(try Self.missing(keys, &evaluation))
    }

    static func missing(_ keys: [FlagValue], _ evaluation: inout Evaluation) throws(EvaluationFault) -> [FlagValue] {
        try evaluation.spend(keys.count)
        var missing: [FlagValue] = []
        for key in keys {
            try evaluation.spend(onReading: key)
            switch try evaluation.value(at: VariablePath(key)) {
            case .none, .null: missing.append(key)
            case .string(let text) where text.isEmpty: missing.append(key)
            default: break
            }
        }
        return missing
    }
}
