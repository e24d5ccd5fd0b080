import FeatureFlags

/// Whether a change of percentages moves users both ways. A user's bucket follows from the key and the sum of the
/// weights: with another sum, or another order of the entries, some users go forward and others back.
struct RebucketingLint {
    let old: FlagDocument
    let new: FlagDocument
    let newSplits: [String: [FractionalSplit]]
    let configuration: FlagConfiguration
    let collector: LintCollector

    func run() {
        let reader = RuleReader(document: old, configuration: configuration)
        let nothing = LintCollector(source: old.source)
        for flag in old.flags {
            guard let after = newSplits[flag.key], !after.isEmpty else { continue }
            var lint = TargetingLint(
                flag: flag,
                reader: reader,
                collector: nothing,
                references: ReferenceList(),
                variables: VariableList(collector: nothing)
            )
            lint.run()
            guard lint.splits.count == after.count else { continue }
            for (before, after) in zip(lint.splits, after) { compare(before, after) }
        }
    }

    private func compare(_ before: FractionalSplit, _ after: FractionalSplit) {
        guard let old = before.totalWeight, let new = after.totalWeight else { return }
        if old != new {
            collector.add(
                .rebucketing,
                "the weights sum to \(new) and did to \(old); users move both ways, so keep the sum",
                at: after.range
            )
        } else if isReordered(before.entries.map(\.variant), after.entries.map(\.variant)) {
            collector.add(
                .rebucketing,
                "the entries stand in another order than before; users move both ways, so keep the order",
                at: after.range
            )
        }
    }

    private func isReordered(_ before: [String?], _ after: [String?]) -> Bool {
        let common = Set(before).intersection(after)
        return before.filter(common.contains) != after.filter(common.contains)
    }
}
