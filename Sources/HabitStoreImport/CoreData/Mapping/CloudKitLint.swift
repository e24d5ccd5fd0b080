@_spi(Engines) import HabitStore

/// Finds what prevents a schema from being mirrored to CloudKit.
///
/// Record identifiers do not count: CloudKit uses them as record names, which are unique there.
public enum CloudKitLint {
    /// The findings in a schema, in the order of its entities.
    public static func findings(in schema: StoredSchema) -> [CloudKitFinding] {
        schema.entities.flatMap(findings)
    }

    private static func findings(_ entity: EntityShape) -> [CloudKitFinding] {
        let references = Set(entity.relationships.compactMap(\.attribute))
        var findings: [CloudKitFinding] = []
        func find(_ rule: CloudKitRule, _ properties: String...) {
            findings.append(CloudKitFinding(rule: rule, entity: entity.name, properties: properties))
        }
        for attribute in entity.attributes.dropFirst() {
            if attribute.isUnique { find(.uniqueConstraint, attribute.name) }
            // A reference is checked as a relationship, below.
            guard !references.contains(attribute.name), !attribute.isOptional else { continue }
            if attribute.defaultValue ?? .null == .null { find(.requiredWithoutDefault, attribute.name) }
        }
        findings += entity.uniqueness.map {
            CloudKitFinding(rule: .uniqueConstraint, entity: entity.name, properties: $0)
        }
        for relationship in entity.relationships {
            let attribute = entity.attributes.first { $0.name == relationship.attribute }
            if relationship.kind == .toOne, attribute?.isOptional == false {
                find(.requiredRelationship, relationship.name)
            }
            if relationship.inverse == nil { find(.relationshipWithoutInverse, relationship.name) }
            if relationship.deleteRule == .deny { find(.denyRule, relationship.name) }
        }
        return findings
    }

    /// The findings in the model of a Core Data file, entity by entity; an inherited property is reported where it is declared.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the file contains no readable model: its tables do not say what is optional and
    ///   what happens on deletion.
    public static func findings(in file: CoreDataFile) throws -> [CloudKitFinding] {
        guard file.model.origin == .modelCache else {
            throw HabitStoreError(
                .invalidSource,
                "the file keeps no model that can be read, and its tables do not say what is optional, what has a default and "
                    + "what is deleted with what",
                at: .init(path: file.path)
            )
        }
        return findings(in: file.model)
    }

    static func findings(in model: CoreDataModel) -> [CloudKitFinding] {
        model.entities.flatMap { findings($0, model) }
    }

    private static func findings(_ entity: CoreDataEntity, _ model: CoreDataModel) -> [CloudKitFinding] {
        var findings: [CloudKitFinding] = []
        func find(_ rule: CloudKitRule, _ property: String) {
            findings.append(CloudKitFinding(rule: rule, entity: entity.name, properties: [property]))
        }
        let inherited = entity.superentity.flatMap(model.entity)?.uniqueness ?? []
        findings += entity.uniqueness.filter { !inherited.contains($0) }.map {
            CloudKitFinding(rule: .uniqueConstraint, entity: entity.name, properties: $0)
        }
        for attribute in entity.attributes where attribute.declaredIn == entity.name {
            if !attribute.isOptional, attribute.defaultValue == nil, !attribute.isDerived {
                find(.requiredWithoutDefault, attribute.name)
            }
        }
        for relationship in entity.relationships where relationship.declaredIn == entity.name {
            if !relationship.isOptional { find(.requiredRelationship, relationship.name) }
            if relationship.inverse == nil { find(.relationshipWithoutInverse, relationship.name) }
            if relationship.deleteRule == DeleteRule.deny.rawValue { find(.denyRule, relationship.name) }
            if relationship.isOrdered { find(.orderedRelationship, relationship.name) }
        }
        return findings
    }
}

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
