/// A percentage of something that is the same for all users, such as `"targetingKey"` without its `var`: all users fall into one bucket, and changed
/// weights move all of them together. Values that depend on the user and yet distinguish hardly any are found by evaluation, see
/// ``BucketSampling``.
///
/// The first argument of `fractional` is the bucketing value, unless it is a list, which is then an entry, or evaluates to null, for which the
/// flag's key and the targeting key are used.
package struct ConstantBucket {
    private let source: SourceText
    private let configuration: FlagConfiguration
    private let evaluators: [String: JSONNode]

    package init(source: SourceText, configuration: FlagConfiguration, evaluators: [String: JSONNode]) {
        self.source = source
        self.configuration = configuration
        self.evaluators = evaluators
    }

    /// The message about the first argument of a `fractional`; nil if it distinguishes users, or if that is unknown.
    package func message(about first: JSONNode) -> String? {
        guard isOfSubject(first) else { return constantMessage(about: first) }
        guard let outcome = sampling(of: first)?.fewBuckets() else { return nil }
        return outcome.values == 1 ? Self.message(aboutOneBucketOf: outcome) : Self.message(aboutFewBucketsOf: outcome)
    }

    /// The message about the first argument of a `fractional` that is certainly the same for all users; nil otherwise. It quarantines the flag.
    func certainMessage(about first: JSONNode) -> String? {
        guard isOfSubject(first) else { return constantMessage(about: first) }
        return sampling(of: first)?.oneBucket().map { Self.message(aboutOneBucketOf: $0) }
    }

    private func isOfSubject(_ first: JSONNode) -> Bool {
        SubjectDependence(evaluators: evaluators) { value(of: $0) }.holds(for: first)
    }

    private func sampling(of first: JSONNode) -> BucketSampling? {
        guard let reads = BucketReads(first, evaluators: evaluators),
            let rule = RuleCompiler.rule(of: first, in: source, configuration, evaluators: evaluators)
        else { return nil }
        return BucketSampling(rule: rule, reads: reads, takesAnyValue: configuration.fractional == .v3)
    }

    private static func message(aboutOneBucketOf outcome: BucketSampling.Outcome) -> String {
        "the bucketing value of \"fractional\" is the same for all \(outcome.users) sample users: everybody gets one "
            + "variant, whatever the weights; bucket by {\"var\": \"targetingKey\"}, or leave it out"
    }

    private static func message(aboutFewBucketsOf outcome: BucketSampling.Outcome) -> String {
        "the bucketing value of \"fractional\" has only \(outcome.values) values for \(outcome.users) sample users: users "
            + "with the same value move together, and the weights are not shares of the users; bucket by "
            + "{\"var\": \"targetingKey\"}, or leave it out"
    }

    private func constantMessage(about first: JSONNode) -> String? {
        switch value(of: first) {
        case .null?, .list?, nil: return nil
        case .bool?, .int?, .double?, .object?:
            // Before v3 only a text can be a bucketing value, so no user gets a variant.
            guard configuration.fractional == .v3 else { return nil }
        case .string?: break
        }
        if case .string(let text) = first.value {
            return
                "\"fractional\" buckets by the text \(quoted(text)), which is the same for everybody: everybody gets one "
                + "variant, whatever the weights; write {\"var\": \(quoted(text))}, or name what tells users apart"
        }
        return
            "the bucketing value of \"fractional\" is the same for everybody: everybody gets one variant, whatever the weights; "
            + "bucket by {\"var\": \"targetingKey\"}, or leave it out"
    }

    /// The value of a rule that needs no context.
    private func value(of node: JSONNode) -> FlagValue? {
        var work = 0
        return RuleCompiler.value(of: node, in: source, configuration, evaluators: evaluators, work: &work)
    }
}
