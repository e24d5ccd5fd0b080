@_spi(Engines) import HabitStore

/// Finds what keeps a schema from being mirrored to CloudKit.
///
/// The identifier of this package's records is not counted: CloudKit names its records by it, and names are unique there.
public enum CloudKitLint {
    /// What is in the way in a schema, entity by entity in its order.
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
            // A reference is judged as the relationship that it is.
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

    /// What is in the way in the model of a Core Data file, entity by entity; what is inherited is told where it is declared.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` for a file that keeps no model: its tables do not say what may be missing
    ///   and what happens on deletion.
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
