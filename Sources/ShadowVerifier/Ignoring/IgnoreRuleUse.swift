import Foundation

/// The use of an ignore rule in a comparison.
public struct IgnoreRuleUse: Sendable, Hashable, Codable {
    /// The rule.
    public var rule: IgnoreRule
    /// Whether it had expired, and so covered nothing.
    public var isExpired: Bool
    /// How many differences it covered.
    public var differences: Int

    init(_ rule: IgnoreRule, now: Date) {
        self.rule = rule
        isExpired = rule.expires <= now
        differences = 0
    }
}
