import FeatureFlags

/// Finds changes that would make a cohort skip a stage.
///
/// Users move forward one stage at a time, and back to any stage. A single file does not say where its users are, so only its percentages are
/// checked: raising a percentage moves a user from one entry to another, so the stages in it, together with the default, must be one step apart. With
/// the current version, each cohort that the two files can distinguish is evaluated in both.
struct StageLint {
    let order: StageOrder
    let document: FlagDocument
    let flag: FlagDocument.Flag
    let collector: LintCollector

    func checkPercentages(_ splits: [FractionalSplit]) {
        var defaultStage: Int?
        if case .string(let name)? = flag.node.member("defaultVariant")?.value.value { defaultStage = stage(name) }
        for split in splits {
            let handedOut = split.entries.filter { $0.weight != 0 }
            var stages = Set(handedOut.compactMap { $0.variant.flatMap { stage($0) } })
            if let defaultStage { stages.insert(defaultStage) }
            for entry in handedOut {
                guard let own = entry.variant.flatMap({ stage($0) }),
                    let before = stages.filter({ $0 < own }).max(), own > before + 1
                else { continue }
                collector.add(
                    .stageJump,
                    "a percentage takes users from \(quoted(order.values[before])) to \(quoted(order.values[own])); the "
                        + "next stage is \(quoted(order.values[before + 1]))",
                    at: entry.range
                )
            }
        }
    }

    /// Compares the outcomes of two versions for each cohort.
    func checkChange(from old: CompiledFlag?, to new: CompiledFlag, _ probe: StageProbe) {
        var known: Set<[Int]> = []
        probe.forEach { subject in
            let outcome = subject.evaluate(new)
            guard let to = order.index(of: outcome.value) else { return }
            let from: Int
            if let old {
                // A user with the caller's default was at no stage that the file knows.
                guard let stage = order.index(of: subject.evaluate(old).value) else { return }
                from = stage
            } else {
                from = 0
            }
            guard to > from + 1, known.insert([from, to]).inserted else { return }
            let stages = (quoted(order.values[from]), quoted(order.values[to]), quoted(order.values[from + 1]))
            collector.add(
                .stageJump,
                "the change takes a cohort (\(subject.description)) from \(stages.0) to \(stages.1); the next stage is "
                    + stages.2,
                at: place(of: outcome.variant)
            )
        }
    }

    private func stage(_ variant: String) -> Int? {
        order.index(of: flag.node.member("variants")?.value.member(variant)?.value.flagValue)
    }

    /// The position of the variant in the targeting, or else of the default variant.
    private func place(of variant: String?) -> Range<Int> {
        if let variant, let targeting = flag.node.member("targeting"),
            let range = Self.text(variant, in: targeting.value)
        {
            return range
        }
        return flag.node.member("defaultVariant")?.value.range ?? flag.keyRange
    }

    private static func text(_ text: String, in node: JSONNode) -> Range<Int>? {
        switch node.value {
        case .string(let value): return value == text ? node.range : nil
        case .array(let elements): return elements.lazy.compactMap { Self.text(text, in: $0) }.first
        case .object(let members): return members.lazy.compactMap { Self.text(text, in: $0.value) }.first
        case .null, .bool, .int, .double: return nil
        }
    }
}
