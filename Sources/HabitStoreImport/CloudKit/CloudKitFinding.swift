/// A part of a schema that CloudKit does not support.
public struct CloudKitFinding: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The rule that is broken.
    public let rule: CloudKitRule
    /// The entity.
    public let entity: String
    /// The attributes or the relationship; several for a unique combination.
    public let properties: [String]

    /// For example `Tag.name is unique, and CloudKit keeps nothing unique`.
    public var description: String {
        let title = properties.count == 1 ? properties[0] : "(\(properties.joined(separator: ", ")))"
        return "\(entity).\(title) \(rule.demand)"
    }
}
