/// What the linter found in one file.
public struct LintReport: Sendable, Equatable {
    /// The file's path, or the name that the caller gave to it.
    public let source: String
    /// What was found, in the order of the file; at most ``FlagLinter/maximumFindings`` of each
    /// severity.
    public let findings: [LintFinding]
    /// Whether the file could be parsed. If not, the one finding says why.
    public let isReadable: Bool

    /// Whether anything is wrong, beyond warnings.
    public var hasErrors: Bool { findings.contains { $0.severity == .error } }
}
