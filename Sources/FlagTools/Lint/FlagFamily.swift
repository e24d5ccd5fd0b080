import FeatureFlags
import JSONText

/// A rule of the caller's domain: flags whose keys consist of a name and an ending, which determines their values. Flags may exist under several
/// names.
package struct FlagFamily: Sendable {
    /// The values that the variants of a flag may have.
    package enum Values: Sendable, Hashable {
        /// True and false, as for a kill flag.
        case kill
        /// One of several texts.
        case texts(TextValues)
    }

    /// The texts that a flag may have.
    package struct TextValues: Sendable, Hashable {
        /// The noun for one of them, with its article.
        let noun: String
        let texts: [String]
        /// Whether there are no other texts. If there may be others, an unknown text is a warning, unless it is similar to one of these.
        let isComplete: Bool

        package init(_ noun: String, _ texts: [String], isComplete: Bool = true) {
            (self.noun, self.texts, self.isComplete) = (noun, texts, isComplete)
        }
    }

    /// Two endings whose flags must have different values: the engine that users leave and the one that they move to.
    package struct Pair: Sendable, Hashable {
        let from: String
        let to: String

        package init(from: String, to: String) { (self.from, self.to) = (from, to) }
    }

    /// A flag of the family, by its key.
    struct Member {
        let name: String
        let values: Values
    }

    /// The name that always exists.
    let first: String
    /// The endings of keys.
    let endings: [String: Values]
    let pair: Pair?
    private let canBeName: @Sendable (String) -> Bool

    package init(
        first: String,
        endings: [String: Values],
        pair: Pair? = nil,
        canBeName: @escaping @Sendable (String) -> Bool
    ) {
        (self.first, self.endings, self.pair, self.canBeName) = (first, endings, pair, canBeName)
    }

    /// The member of the family with a key; nil if the key does not belong to it.
    func member(_ key: String) -> Member? {
        for (ending, values) in endings where key.hasSuffix(ending) {
            let name = String(key.dropLast(ending.count))
            if name == first || canBeName(name) { return Member(name: name, values: values) }
        }
        return nil
    }
}

/// Checks that the flags of a family have valid values, and finds other flags that were probably meant to belong to it.
struct FamilyLint {
    let family: FlagFamily
    let document: FlagDocument
    let collector: LintCollector
    let configuration: FlagConfiguration
    let work: LintWork

    private static let nearDistance = 2

    func run() {
        let members = document.flags.map { (flag: $0, member: family.member($0.key)) }
        var counts = [family.first: 2]
        for case let member? in members.map(\.member) { counts[member.name, default: 0] += 1 }
        // A name with only one flag may be a misspelt one, or belong to something else.
        let names = Set(counts.filter { $0.value > 1 }.keys)
        let keys = names.flatMap { name in family.endings.keys.map { name + $0 } }.sorted()
        for (flag, member) in members {
            let isKnown = member.map { names.contains($0.name) } ?? false
            if let member { checkValues(of: flag, member.values, isKnown: isKnown) }
            if !isKnown { checkKey(of: flag, keys) }
        }
    }

    private func checkValues(of flag: FlagDocument.Flag, _ values: FlagFamily.Values, isKnown: Bool) {
        guard case .object(let variants)? = flag.node.member("variants")?.value.value,
            isKnown || variants.contains(where: { Self.fits($0.value, values) })
        else { return }
        switch values {
        case .kill:
            // Another check covers the configured kill flags.
            guard !configuration.killFlags.contains(flag.key) else { return }
            KillFlagLint(flag: flag, collector: collector, configuration: configuration).run()
        case .texts(let values):
            for variant in variants where !Self.fits(variant.value, .texts(values)) {
                report(variant, of: flag, values)
            }
        }
    }

    private static func fits(_ node: JSONNode, _ values: FlagFamily.Values) -> Bool {
        switch (values, node.value) {
        case (.kill, .bool): true
        case (.texts(let values), .string(let text)): values.texts.contains { $0.hasSameBytes(as: text) }
        default: false
        }
    }

    private func report(_ variant: JSONMember, of flag: FlagDocument.Flag, _ values: FlagFamily.TextValues) {
        let (key, list) = (quoted(flag.key), values.texts.joined(separator: ", "))
        guard case .string(let text) = variant.value.value else {
            let type = variant.value.typeName
            add("a value of \(key) has to be \(values.noun) (\(list)), and this is of the type \(type)", variant)
            return
        }
        let question = NearMiss.question(text, among: values.texts)
        let isCertain = values.isComplete || !question.isEmpty
        let what = isCertain ? values.noun : values.noun + " that is known here"
        add(
            "the value \(quoted(text)) of \(key) is not \(what) (\(list))\(question)",
            variant,
            isCertain ? .error : .warning
        )
    }

    private func checkKey(of flag: FlagDocument.Flag, _ keys: [String]) {
        guard work.spend(keys.count, at: flag.keyRange), let meant = keys.first(where: { isNear(flag.key, $0) }) else {
            return
        }
        collector.add(
            .unknownFlag,
            "the flag \(quoted(flag.key)) moves and kills no users; did you mean \(quoted(meant))?",
            at: flag.keyRange
        )
    }

    private func isNear(_ key: String, _ known: String) -> Bool {
        NearMiss.isSameWord(key, known)
            || NearMiss.distance(Array(key.unicodeScalars), Array(known.unicodeScalars), limit: Self.nearDistance)
                != nil
    }

    private func add(_ message: String, _ variant: JSONMember, _ severity: LintFinding.Severity = .error) {
        collector.add(.wrongValue, message, at: variant.value.range, severity: severity)
    }
}

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
