import FeatureFlags

/// Finds changes of percentages that move users in both directions. A user's bucket depends on what is hashed and on the sum of the weights: with
/// another salt, attribute, sum or order of entries, some users move forward and others back.
struct RebucketingLint {
    let old: RuleReader
    let newSplits: [String: [FractionalSplit]]
    let collector: LintCollector

    func run() {
        let nothing = LintCollector(source: old.document.source)
        for flag in old.document.flags {
            guard let after = newSplits[flag.key], !after.isEmpty else { continue }
            var lint = TargetingLint(
                flag: flag,
                reader: old,
                collector: nothing,
                references: ReferenceList(),
                variables: VariableList(collector: nothing)
            )
            lint.run()
            for (before, after) in pairs(lint.splits, after) { compare(before, after) }
        }
    }

    /// Pairs of percentages where the second replaced the first: by order if their number is unchanged; otherwise the only removed and the only added
    /// one.
    private func pairs(
        _ before: [FractionalSplit],
        _ after: [FractionalSplit]
    ) -> [(FractionalSplit, FractionalSplit)] {
        if before.count == after.count { return Array(zip(before, after)) }
        let comparisons = before.count.multipliedReportingOverflow(by: after.count)
        guard !comparisons.overflow, old.work.spend(2 * comparisons.partialValue, at: after[0].range) else { return [] }
        let gone = before.filter { split in !after.contains { $0.isSame(as: split) } }
        let new = after.filter { split in !before.contains { $0.isSame(as: split) } }
        return gone.count == 1 && new.count == 1 ? [(gone[0], new[0])] : []
    }

    private func compare(_ before: FractionalSplit, _ after: FractionalSplit) {
        if before.bucketing != after.bucketing {
            collector.add(
                .rebucketing,
                "\"fractional\" buckets by something else than before, and every user gets another place; users move both "
                    + "ways, so keep what it buckets by",
                at: after.range
            )
            return
        }
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

extension FractionalSplit {
    fileprivate func isSame(as other: FractionalSplit) -> Bool {
        bucketing == other.bucketing
            && entries.map(\.variant) == other.entries.map(\.variant)
            && entries.map(\.weight) == other.entries.map(\.weight)
    }
}
