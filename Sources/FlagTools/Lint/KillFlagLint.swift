import FeatureFlags

/// Checks the form of a kill flag: it must be able to kill, whatever else is wrong.
struct KillFlagLint {
    let flag: FlagDocument.Flag
    let collector: LintCollector
    let configuration: FlagConfiguration

    func run() {
        let name = quoted(flag.key)
        if case .string("DISABLED")? = flag.node.member("state")?.value.value {
            add("the kill flag \(name) is disabled, and cannot kill", flag.node.member("state")?.value.range)
        }
        guard case .object(let variants)? = flag.node.member("variants")?.value.value, !variants.isEmpty else { return }
        if let other = variants.first(where: { $0.value.typeName != "boolean" }) {
            add("the variants of the kill flag \(name) must be booleans", other.value.range)
            return
        }
        for wanted in [true, false] where !variants.contains(where: { $0.value.flagValue == .bool(wanted) }) {
            add("the kill flag \(name) has no variant of the value \(wanted)", flag.keyRange)
        }
        checkDefault(variants, name)
    }

    private func checkDefault(_ variants: [JSONMember], _ name: String) {
        let member = flag.node.member("defaultVariant")
        guard case .string(let variant)? = member?.value.value,
            let value = variants.first(where: { $0.key == variant })?.value.flagValue
        else {
            add(
                "the kill flag \(name) needs a \"defaultVariant\" that says what holds without a rule",
                member?.value.range
            )
            return
        }
        if value == .bool(true) {
            collector.add(
                .killPulled,
                "the kill flag \(name) is pulled for everybody that no rule exempts",
                at: member?.value.range ?? flag.keyRange
            )
        }
    }

    private func add(_ message: String, _ range: Range<Int>?) {
        collector.add(.killFlag, message, at: range ?? flag.keyRange)
    }
}
