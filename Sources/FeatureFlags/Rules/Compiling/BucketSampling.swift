/// Finds by evaluation how well the first argument of a `fractional` distinguishes users.
///
/// A rule can read the targeting key and yet have the same result for all users, such as `{"substr": [{"var": "targetingKey"}, 0, 0]}`. It is
/// evaluated for users of several kinds, and accepted if it distinguishes those of one kind: a part of a UUID that a name does not have is a good
/// bucket if the keys are UUIDs.
struct BucketSampling {
    /// The results for the sample users.
    struct Outcome {
        let users: Int
        /// The different values that one flag has.
        let values: Int
    }

    private let rule: Rule
    private let reads: BucketReads
    /// Whether any value can be bucketed by, and not only a text.
    private let takesAnyValue: Bool

    /// As many of sixteen users in different buckets are enough: no more than a quarter are too few.
    private static let fewValues = BucketSamples.usersOfOneKind / 4
    /// How many steps the evaluations for one `fractional` may take together.
    private static let maximumWork = 4_096
    /// How many texts of a rule get additional users for whom a comparison with the text is true.
    private static let maximumTexts = 8
    /// The operators that give parts of what they read. Behind any other an attribute with few values, such as a plan
    /// or a country, is a choice of the rule's author.
    private static let copying: Set<String> = ["var", "cat", "substr", "merge", "missing", "missing_some"]
    /// The operators that make no difference between one key and another but for what of it is there.
    private static let unselective: Set<String> = ["var", "cat", "substr", "merge", "if", "?:", "and", "or", "!", "!!"]

    init(rule: Rule, reads: BucketReads, takesAnyValue: Bool) {
        self.rule = rule
        self.reads = reads
        self.takesAnyValue = takesAnyValue
    }

    /// The results if hardly any users are distinguished; nil if they are, or if that is unknown.
    func fewBuckets() -> Outcome? {
        guard reads.isKnown, reads.isOfTargetingKeyAlone || reads.operators.isSubset(of: Self.copying) else {
            return nil
        }
        return outcome(of: kinds, atMost: Self.fewValues)
    }

    /// The results if the bucket is the same for all users, whatever the keys look like; nil if it is not, or if that is uncertain.
    func oneBucket() -> Outcome? {
        guard reads.isOfTargetingKeyAlone, reads.operators.isSubset(of: Self.unselective) else { return nil }
        guard let outcome = outcome(of: [BucketSamples.long] + kinds, atMost: 1), outcome.values == 1 else {
            return nil
        }
        return outcome
    }

    private var kinds: [BucketSamples.Kind] {
        BucketSamples.ordinary + reads.texts.prefix(Self.maximumTexts).map { BucketSamples.around($0) }
    }

    /// Nil as soon as more users of one kind are distinguished than the limit.
    private func outcome(of kinds: [BucketSamples.Kind], atMost limit: Int) -> Outcome? {
        var valuesByFlag: [String: Set<FlagValue>] = [:]
        var users = 0
        var work = 0
        defer { WorkMeter.current?.add(work) }
        for kind in kinds {
            var values: Set<FlagValue> = []
            for key in kind.keys {
                guard work <= Self.maximumWork, let bucket = bucket(key, kind.flagKey, &work) else { return nil }
                values.insert(bucket)
                guard values.count <= limit else { return nil }
            }
            users += kind.keys.count
            valuesByFlag[kind.flagKey, default: []].formUnion(values)
        }
        return Outcome(users: users, values: valuesByFlag.values.map(\.count).max() ?? 0)
    }

    /// The value that a user is bucketed by; nil if there is none, or it cannot be computed.
    private func bucket(_ key: String, _ flagKey: String, _ work: inout Int) -> FlagValue? {
        var context = EvaluationContext(targetingKey: key)
        for path in reads.attributes {
            let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            context.attributes = Self.setting(.string(key), at: names[...], in: context.attributes)
        }
        var evaluation = Evaluation(flagKey: flagKey, context: context, clock: { 0 })
        defer { work += 1 + evaluation.spentWork }
        do throws(EvaluationFault) {
            let value = try rule.evaluate(&evaluation)
            switch value {
            case .string: return value
            // The flag's key and the targeting key are taken.
            case .null: return .list([.string(key)])
            case .bool, .int, .double, .object: return takesAnyValue ? value : nil
            case .list: return nil
            }
        } catch {
            return nil
        }
    }

    private static func setting(
        _ value: FlagValue,
        at path: ArraySlice<String>,
        in members: [String: FlagValue]
    ) -> [String: FlagValue] {
        guard let name = path.first else { return members }
        var members = members
        if path.count == 1 {
            // Another path may lead on from here already.
            if members[name] == nil { members[name] = value }
        } else {
            members[name] = .object(setting(value, at: path.dropFirst(), in: members[name]?.objectValue ?? [:]))
        }
        return members
    }
}
