import FeatureFlags

/// The linter's findings in one file.
public struct LintReport: Sendable, Equatable {
    /// The file's path, or the caller's name for it.
    public let source: String
    /// The findings in the file's order; at most ``FlagLinter/maximumFindings`` of each severity.
    public let findings: [LintFinding]
    /// Whether the file could be read as a flag file. Otherwise no flag is evaluated from it, and a finding says why: it cannot be parsed, or has no
    /// `flags`.
    public let isReadable: Bool

    /// Whether there are errors, and not only warnings.
    public var hasErrors: Bool { findings.contains { $0.severity == .error } }
}
