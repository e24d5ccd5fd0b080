import FeatureFlags

/// A finding of the linter in a flag file.
public struct LintFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Severity: String, Sendable, CaseIterable {
        /// The file or one of its flags does not do what it says, and nothing compensates for that.
        case error
        /// The file works, but perhaps not as its author intended.
        case warning
    }

    /// The rule that made the finding.
    public let rule: LintRule
    /// The severity.
    public let severity: Severity
    /// The problem and what to do about it.
    public let message: String
    /// The location in the file.
    public let location: FlagError.Location

    /// Creates a finding, by default with the rule's severity.
    public init(_ rule: LintRule, _ message: String, at location: FlagError.Location, severity: Severity? = nil) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        self.message = message
        self.location = location
    }
}

extension LintFinding: CustomStringConvertible {
    /// `file:line:column: error: message [rule]`, as in compilers.
    public var description: String { "\(location): \(severity.rawValue): \(message) [\(rule.rawValue)]" }
}
