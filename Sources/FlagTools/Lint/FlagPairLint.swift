import FeatureFlags

/// Finds pairs of flags that give a user the same engine twice, so that the user cannot move, or whose values were exchanged.
struct FlagPairLint {
    let family: FlagFamily
    /// The current version, if there is one, and the new one.
    let readers: [RuleReader]
    let new: FlagDocument
    let configuration: FlagConfiguration
    let collector: LintCollector
    let work: LintWork

    func run(_ flags: [String: CompiledFlag], _ oldFlags: [String: CompiledFlag]) {
        guard let pair = family.pair else { return }
        for flag in new.flags where flag.key.hasSuffix(pair.to) {
            guard let name = family.member(flag.key)?.name else { continue }
            let keys = (from: name + pair.from, to: flag.key)
            guard let from = flags[keys.from], let to = flags[keys.to] else { continue }
            let before = oldFlags[keys.from].flatMap { from in oldFlags[keys.to].map { (from: from, to: $0) } }
            check(flag, keys, (from, to), before)
        }
    }

    private func check(
        _ flag: FlagDocument.Flag,
        _ keys: (from: String, to: String),
        _ flags: (from: CompiledFlag, to: CompiledFlag),
        _ before: (from: CompiledFlag, to: CompiledFlag)?
    ) {
        let now = configuration.clock()
        let probe = StageProbe(readers: readers, flagKeys: [keys.from, keys.to], now: now, work: work)
        var (areSame, areExchanged) = (false, false)
        let range = flag.node.member("defaultVariant")?.value.range ?? flag.keyRange
        probe.forEach { subject in
            guard let from = subject.evaluate(flags.from).value?.stringValue,
                let to = subject.evaluate(flags.to).value?.stringValue
            else { return }
            if from == to, !areSame {
                areSame = true
                collector.add(
                    .flagPair,
                    "\(quoted(keys.from)) and \(quoted(keys.to)) both give \(quoted(to)) (\(subject.description)); a user cannot "
                        + "be moved from an engine to itself",
                    at: range
                )
            }
            guard let before, !areExchanged, from != to, subject.evaluate(before.from).value == .string(to),
                subject.evaluate(before.to).value == .string(from)
            else { return }
            areExchanged = true
            collector.add(
                .flagPair,
                "\(quoted(keys.from)) and \(quoted(keys.to)) have exchanged their values (\(subject.description)); users would "
                    + "move the other way",
                at: range,
                severity: .warning
            )
        }
    }
}
