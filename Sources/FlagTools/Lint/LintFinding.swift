import FeatureFlags

/// Something that the linter found in a flag file.
public struct LintFinding: Sendable, Hashable {
    /// How bad it is.
    public enum Severity: String, Sendable, CaseIterable {
        /// The file, or a flag of it, does not do what it says, and nothing makes up for that.
        case error
        /// The file works, and perhaps not as its author meant.
        case warning
    }

    /// What kind of thing was found.
    public let rule: LintRule
    /// How bad it is.
    public let severity: Severity
    /// What is wrong and what to do.
    public let message: String
    /// Where it stands.
    public let location: FlagError.Location

    /// Makes a finding; without a severity it is the rule's.
    public init(_ rule: LintRule, _ message: String, at location: FlagError.Location, severity: Severity? = nil) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        self.message = message
        self.location = location
    }
}

extension LintFinding: CustomStringConvertible {
    /// `file:line:column: error: message [rule]`, as compilers write it.
    public var description: String { "\(location): \(severity.rawValue): \(message) [\(rule.rawValue)]" }
}
