/// The warnings of one file, at most ``FlagLimits/warnings`` of them.
package struct FlagWarningList: Sendable {
    package private(set) var warnings: [FlagWarning] = []

    package init() {}

    /// Adds a warning about the byte at `offset`. The place is worked out only for a warning that is kept.
    package mutating func add(_ message: String, _ source: SourceText, at offset: Int) {
        guard warnings.count < FlagLimits.warnings else { return }
        let isLast = warnings.count == FlagLimits.warnings - 1
        let text = isLast ? "further warnings of this file are left out" : message
        warnings.append(FlagWarning(text, at: source.location(at: offset)))
    }
}
