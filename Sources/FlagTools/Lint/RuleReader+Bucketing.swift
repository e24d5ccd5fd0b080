import FeatureFlags

extension RuleReader {
    /// The normalized bucketing of a `fractional`, which is equal for equivalent forms: evaluators are inlined, a `var` with one path has no
    /// brackets, and a `cat` contains no other `cat`.
    ///
    /// - Parameter node: The first argument; nil if that is already an entry.
    func bucketing(_ node: JSONNode?) -> FlagValue {
        let keys: FlagValue = ["cat": [["var": "$flagd.flagKey"], ["var": "targetingKey"]]]
        // In v3, the two keys are not joined, and no rule can bucket in the same way.
        let standard = configuration.fractional == .v3 ? .null : keys
        guard let node else { return standard }
        let written = normal(node)
        return written == .null ? standard : written
    }

    private func normal(_ node: JSONNode) -> FlagValue {
        let node = resolved(node)
        guard let operation = operation(node) else {
            guard case .array(let elements) = node.value else { return node.flagValue }
            return .list(elements.map { normal($0) })
        }
        var arguments = operation.arguments.map { normal($0) }
        switch operation.name {
        case "var" where arguments.count == 1: return .object([operation.name: arguments[0]])
        case "cat":
            arguments = arguments.flatMap { argument in
                if case .list(let inner)? = argument.objectValue?["cat"] { inner } else { [argument] }
            }
            if arguments.count == 1, arguments[0].objectValue?["var"] == "targetingKey" { return arguments[0] }
        default: break
        }
        return .object([operation.name: .list(arguments)])
    }
}
