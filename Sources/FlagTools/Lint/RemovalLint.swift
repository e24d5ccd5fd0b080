import FeatureFlags

/// Finds what an edit removed: a flag that programs read, or a version at least as high as the current one.
struct RemovalLint {
    let old: FlagDocument
    let new: FlagDocument
    /// Whether the caller reads a flag.
    let isRead: (String) -> Bool
    let collector: LintCollector

    func run() {
        let range = new.root.member("flags")?.keyRange ?? new.root.range
        let keys = Set(new.flags.map(\.key))
        for flag in old.flags where !keys.contains(flag.key) && isRead(flag.key) {
            collector.add(
                .removedFlag,
                "the flag \(quoted(flag.key)) of the file in force is gone; everybody now gets the built-in answer",
                at: range
            )
        }
        checkVersion()
    }

    private func checkVersion() {
        guard let before = version(of: old)?.flagValue else { return }
        let text = before.javaScriptText
        guard let now = version(of: new) else {
            let range = new.root.member("metadata")?.keyRange ?? new.root.range
            collector.add(.version, "the file has no version, and the one in force is version \(text)", at: range)
            return
        }
        guard let old = Self.numbers(before), let new = Self.numbers(now.flagValue), new.lexicographicallyPrecedes(old)
        else { return }
        collector.add(
            .version,
            "the version \(now.flagValue.javaScriptText) is lower than that of the file in force, \(text); is this an old copy?",
            at: now.range
        )
    }

    private func version(of document: FlagDocument) -> JSONNode? {
        document.root.member("metadata")?.value.member("version")?.value
    }

    /// `3`, `"2"` and `"v1.10.2"` as numbers; nil for anything else.
    private static func numbers(_ version: FlagValue) -> [Int]? {
        let text = version.javaScriptText
        let parts = (text.hasPrefix("v") ? text.dropFirst() : text[...])
            .split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int($0) }
        return numbers.count == parts.count ? numbers : nil
    }
}
