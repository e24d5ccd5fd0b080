/// What CloudKit demands of a model before Core Data or SwiftData mirrors it, from Apple's article *Creating a Core Data model for
/// CloudKit* (https://developer.apple.com/documentation/coredata/creating-a-core-data-model-for-cloudkit).
public enum CloudKitRule: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is unique: two devices may write the same value before they sync.
    case uniqueConstraint
    /// Each attribute is optional or has a default: records from older versions of the app lack newer attributes.
    case requiredWithoutDefault
    /// Each relationship is optional: a record may arrive before the records it refers to.
    case requiredRelationship
    /// Each relationship has an inverse.
    case relationshipWithoutInverse
    /// No relationship denies deletion: a deletion that happened elsewhere cannot be refused.
    case denyRule
    /// No relationship is ordered.
    case orderedRelationship

    /// The demand, as the end of a sentence.
    var demand: String {
        switch self {
        case .uniqueConstraint: return "is unique, and CloudKit keeps nothing unique"
        case .requiredWithoutDefault: return "is not optional and has no default"
        case .requiredRelationship: return "is not optional, as each relationship has to be"
        case .relationshipWithoutInverse: return "has no inverse"
        case .denyRule: return "has the delete rule deny, which CloudKit does not know"
        case .orderedRelationship: return "is ordered, and CloudKit keeps no order"
        }
    }
}
