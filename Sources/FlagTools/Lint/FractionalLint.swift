import FeatureFlags

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
