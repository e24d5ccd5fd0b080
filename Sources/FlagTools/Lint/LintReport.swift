import FeatureFlags

/// What the linter found in one file.
public struct LintReport: Sendable, Equatable {
    /// The file's path, or the name that the caller gave to it.
    public let source: String
    /// What was found, in the order of the file; at most ``FlagLinter/maximumFindings`` of each
    /// severity.
    public let findings: [LintFinding]
    /// Whether the file could be read as a flag file. If not, no flag is evaluated from it, and a finding says why: it
    /// cannot be parsed, or has no `flags`.
    public let isReadable: Bool

    /// Whether anything is wrong, beyond warnings.
    public var hasErrors: Bool { findings.contains { $0.severity == .error } }
}
