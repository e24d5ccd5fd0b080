import FeatureFlags
import JSONText

/// Checks the entries and weights of a `fractional`.
struct FractionalLint {
    let reader: RuleReader
    let collector: LintCollector?

    private static let maximumWeight: Int64 = 0x7FFF_FFFF

    /// Checks the entries; returns nil if they are unusable.
    func check(_ operation: RuleReader.Operation) -> FractionalSplit? {
        var nodes = operation.arguments[...]
        var bucketing: JSONNode?
        if let first = nodes.first {
            if case .array = reader.resolved(first).value {
            } else {
                checkBucketing(first)
                bucketing = first
                nodes = nodes.dropFirst()
            }
        }
        guard !nodes.isEmpty else {
            collector?.add(
                .weights,
                "\"fractional\" has no entries; write them as [\"variant\", weight]",
                at: operation.nameRange
            )
            return nil
        }
        var entries: [FractionalSplit.Entry] = []
        for node in nodes {
            guard let entry = entry(reader.resolved(node)) else { return nil }
            entries.append(entry)
        }
        let split = FractionalSplit(
            range: operation.nameRange,
            entries: entries,
            bucketing: reader.bucketing(bucketing)
        )
        checkSum(split)
        if entries.count > 1, let variant = entries[0].variant, entries.allSatisfy({ $0.variant == variant }) {
            collector?.add(
                .equalBranches,
                "all entries give \(quoted(variant)); the weights decide nothing",
                at: split.range
            )
        }
        return split
    }

    private func checkBucketing(_ node: JSONNode) {
        let bucket = ConstantBucket(
            source: reader.document.source,
            configuration: reader.configuration,
            evaluators: reader.document.evaluators
        )
        if let message = bucket.message(about: node) {
            collector?.add(.constantBucket, message, at: node.range)
            return
        }
        guard reader.configuration.fractional != .v3, cannotBeText(node) else { return }
        collector?.add(
            .arguments,
            "\"fractional\" must be given a text to choose by; it gives null else",
            at: node.range
        )
    }

    private func cannotBeText(_ node: JSONNode) -> Bool {
        switch reader.constant(node) {
        case .string?, .null?: false
        case .some: true
        case nil: reader.types(node)?.isDisjoint(with: [.string, .null]) ?? false
        }
    }

    private func entry(_ node: JSONNode) -> FractionalSplit.Entry? {
        guard case .array(let parts) = node.value, let variant = parts.first else {
            collector?.add(.weights, "an entry of \"fractional\" must be a list [\"variant\", weight]", at: node.range)
            return nil
        }
        if parts.count > 2 {
            collector?.add(
                .arguments,
                "an entry of \"fractional\" takes a variant and a weight, and \(parts.count) items stand here",
                at: parts[2].range
            )
        }
        let name: String? =
            switch variant.value {
            case .string(let name): name
            case .bool(let value): value ? "true" : "false"
            default: nil
            }
        var weight: UInt64? = 1
        if parts.count > 1, case .null = parts[1].value {
            collector?.add(
                .arguments,
                "a weight of null counts as 1, and the schema of flagd refuses it; write 1, or leave it out",
                at: parts[1].range,
                severity: .warning
            )
        } else if parts.count > 1 {
            guard let value = reader.constant(parts[1]) else {
                return .init(variant: name, weight: nil, range: node.range, node: variant, weightRange: nil)
            }
            guard let number = self.weight(value, parts[1].range) else { return nil }
            weight = number
        }
        return .init(
            variant: name,
            weight: weight,
            range: node.range,
            node: variant,
            weightRange: parts.count > 1 ? parts[1].range : nil
        )
    }

    private func weight(_ value: FlagValue, _ range: Range<Int>) -> UInt64? {
        guard let number = value.intValue, number <= Self.maximumWeight else {
            collector?.add(
                .weights,
                "a weight must be a whole number up to \(Self.maximumWeight); with this one, no user gets a variant",
                at: range
            )
            return nil
        }
        if number < 0 {
            collector?.add(.weights, "a negative weight counts as 0", at: range, severity: .warning)
        }
        return UInt64(max(0, number))
    }

    private func checkSum(_ split: FractionalSplit) {
        guard let total = split.totalWeight else { return }
        if total == 0 {
            collector?.add(.weights, "all weights are 0; no user gets a variant", at: split.range)
            return
        }
        if total > UInt64(Self.maximumWeight) {
            collector?.add(
                .weights,
                "the weights sum to more than \(Self.maximumWeight); no user gets a variant",
                at: split.range
            )
            return
        }
        if split.entries.count == 1, (2..<100).contains(total) {
            collector?.add(
                .percentages,
                "one entry gets everybody, whatever its weight; add an entry for the other \(100 - total) %",
                at: split.range
            )
        }
        let isNearly = (90...110).contains(total) || (990...1010).contains(total)
        if split.entries.count > 1, isNearly, total != 100, total != 1000 {
            collector?.add(
                .percentages,
                "the weights look like percentages and sum to \(total), not \(total < 500 ? 100 : 1000); each counts as "
                    + "a share of the sum",
                at: split.range
            )
        }
    }
}

/// The constant parts of a `fractional`.
struct FractionalSplit {
    struct Entry {
        /// The variant's name; nil if it is computed.
        let variant: String?
        /// The weight; nil if it is computed.
        let weight: UInt64?
        let range: Range<Int>
        /// The variant in the file.
        let node: JSONNode
        /// The position of the weight, if there is one.
        let weightRange: Range<Int>?
    }

    /// The position of the operator's name.
    let range: Range<Int>
    let entries: [Entry]
    /// What users are bucketed by, in the form of ``RuleReader/bucketing(_:)``.
    let bucketing: FlagValue

    /// The sum of the weights; nil if one is computed.
    var totalWeight: UInt64? {
        entries.reduce(UInt64(0) as UInt64?) { sum, entry in
            guard let sum, let weight = entry.weight else { return nil }
            return sum + weight
        }
    }
}

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
