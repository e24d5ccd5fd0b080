/// A percentage that is taken of something that is the same for everybody, such as `"targetingKey"` without its `var`:
/// all users fall into one bucket, and a change of the weights moves all of them at once.
///
/// The first argument of `fractional` is what it buckets by, unless it is a list, which is an entry then, or comes to
/// null, for which the flag's key and the targeting key are taken.
struct ConstantBucket {
    let source: SourceText
    let configuration: FlagConfiguration
    let evaluators: [String: JSONNode]

    /// What is wrong with the first argument of a `fractional`; nil where it depends on who asks.
    func message(about first: JSONNode) -> String? {
        let dependence = SubjectDependence(evaluators: evaluators) { value(of: $0) }
        guard !dependence.holds(for: first) else { return nil }
        switch value(of: first) {
        case .null?, .list?, nil: return nil
        case .bool?, .int?, .double?, .object?:
            // Before v3 only a text can be bucketed by, and nobody gets a variant.
            guard configuration.fractional == .v3 else { return nil }
        case .string?: break
        }
        if case .string(let text) = first.value {
            return
                "\"fractional\" buckets by the text \(quoted(text)), which is the same for everybody: everybody gets one "
                + "variant, whatever the weights; write {\"var\": \(quoted(text))}, or name what tells users apart"
        }
        return
            "what \"fractional\" buckets by is the same for everybody: everybody gets one variant, whatever the weights; "
            + "bucket by {\"var\": \"targetingKey\"}, or leave it out"
    }

    /// What a rule comes to that needs no context.
    private func value(of node: JSONNode) -> FlagValue? {
        RuleCompiler.value(of: node, in: source, configuration, evaluators: evaluators)
    }
}
