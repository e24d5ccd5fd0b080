import FeatureFlags

extension RuleReader {
    /// What a `fractional` buckets by, so that two ways to write the same are equal: evaluators in their place, a `var` of
    /// one path without brackets, and a `cat` without others in it.
    ///
    /// - Parameter node: The first argument; nil where that is an entry already.
    func bucketing(_ node: JSONNode?) -> FlagValue {
        let keys: FlagValue = ["cat": [["var": "$flagd.flagKey"], ["var": "targetingKey"]]]
        // In v3 the two keys are not joined, and nothing else that can be written buckets as they do.
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
