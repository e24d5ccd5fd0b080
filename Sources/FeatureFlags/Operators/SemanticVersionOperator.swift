/// `{"sem_ver": [version, operator, version]}`: a comparison by the rules of Semantic Versioning 2.0.0, with the
/// operators `=`, `!=`, `<`, `<=`, `>`, `>=`, `~` (same major and minor version) and `^` (same major version).
///
/// Anything but three arguments, two versions (see ``SemanticVersion``) and a known operator gives null.
struct SemanticVersionOperator: RuleOperator {
    static let names = ["sem_ver"]

    private let arguments: [Rule]
    /// The right side where it stands in the file, read once.
    private let fixedRight: SemanticVersion?

    init(_ call: RuleCall) {
        arguments = call.arguments
        if call.arguments.count == 3, case .literal(let value) = call.arguments[2] {
            fixedRight = Self.version(value)
        } else {
            fixedRight = nil
        }
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count == 3 else { return .null }
        let leftValue = try arguments[0].evaluate(&evaluation)
        try evaluation.spend(onReading: leftValue)
        guard case .string(let comparison) = try arguments[1].evaluate(&evaluation),
            let left = Self.version(leftValue),
            let right = try right(&evaluation)
        else { return .null }
        switch comparison {
        case "=": return .bool(left.compare(right) == 0)
        case "!=": return .bool(left.compare(right) != 0)
        case "<": return .bool(left.compare(right) < 0)
        case "<=": return .bool(left.compare(right) <= 0)
        case ">": return .bool(left.compare(right) > 0)
        case ">=": return .bool(left.compare(right) >= 0)
        case "~": return .bool(left.hasSameMajor(as: right) && left.hasSameMinor(as: right))
        case "^": return .bool(left.hasSameMajor(as: right))
        default: return .null
        }
    }

    private func right(_ evaluation: inout Evaluation) throws(EvaluationFault) -> SemanticVersion? {
        if let fixedRight { return fixedRight }
        let value = try arguments[2].evaluate(&evaluation)
        try evaluation.spend(onReading: value)
        return Self.version(value)
    }

    private static func version(_ value: FlagValue) -> SemanticVersion? {
        switch value {
        case .string(let text): SemanticVersion(text)
        case .int, .double: SemanticVersion(value.javaScriptText)
        case .null, .bool, .list, .object: nil
        }
    }
}
