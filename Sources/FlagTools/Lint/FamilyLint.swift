import FeatureFlags

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
