/// What CloudKit asks of a model before Core Data or SwiftData mirrors it there. The words are those of Apple's article *Creating a Core
/// Data model for CloudKit* (https://developer.apple.com/documentation/coredata/creating-a-core-data-model-for-cloudkit).
public enum CloudKitRule: String, Sendable, Hashable, Codable, CaseIterable {
    /// Two devices may write the same value before they hear of each other: nothing can be unique.
    case uniqueConstraint
    /// Records arrive without what an older version of the app did not know: each attribute is optional or has a default.
    case requiredWithoutDefault
    /// Records arrive before those that they refer to: each relationship is optional.
    case requiredRelationship
    /// Each relationship has an inverse.
    case relationshipWithoutInverse
    /// No deletion can be refused that has happened elsewhere.
    case denyRule
    /// Related records have no order.
    case orderedRelationship

    /// What is asked, as the end of a sentence.
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
