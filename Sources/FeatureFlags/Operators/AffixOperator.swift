/// `{"starts_with": [text, prefix]}`, `{"ends_with": [text, suffix]}`: whether the text's bytes begin or end with the
/// other's. Anything but two texts gives null.
struct AffixOperator: RuleOperator {
    static let names = ["starts_with", "ends_with"]

    private let arguments: [Rule]
    private let isPrefix: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isPrefix = call.name == "starts_with"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count == 2,
            case .string(let text) = try arguments[0].evaluate(&evaluation),
            case .string(let affix) = try arguments[1].evaluate(&evaluation)
        else { return .null }
        let difference = text.utf8.count - affix.utf8.count
        guard difference >= 0 else { return false }
        try evaluation.spend(affix.utf8.count / 64)
        if isPrefix { return .bool(text.utf8.starts(with: affix.utf8)) }
        return .bool(text.utf8.dropFirst(difference).elementsEqual(affix.utf8))
    }
}
