import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport

/// CloudKit's rules for this package's schemas and for models of Core Data files.
struct CloudKitLintTests {
    private func findings(_ entities: EntityShape...) -> [String] {
        CloudKitLint.findings(in: StoredSchema(version: Schema.Version(1, 0, 0), entities: entities)).map {
            "\($0.rule.rawValue) \($0.entity).\($0.properties.joined(separator: "+"))"
        }
    }

    @Test func eachRuleIsFoundWithEntityAndAttribute() {
        let found = findings(
            EntityShape(
                name: "Trip",
                attributes: [
                    .id, AttributeShape(name: "name", kind: .string, isUnique: true),
                    AttributeShape(name: "note", kind: .string, isOptional: true),
                    AttributeShape(name: "count", kind: .int, defaultValue: .int(0)),
                    AttributeShape(name: "guideID", kind: .uuid),
                    AttributeShape(name: "ownerID", kind: .uuid, isOptional: true),
                    AttributeShape(name: "tagIDs", kind: .links),
                ],
                relationships: [
                    RelationshipShape(
                        name: "guide",
                        kind: .toOne,
                        attribute: "guideID",
                        destination: "Person",
                        inverse: "trips"
                    ),
                    RelationshipShape(name: "owner", kind: .toOne, attribute: "ownerID", destination: "Person"),
                    RelationshipShape(
                        name: "tags",
                        kind: .manyToManyOwner,
                        attribute: "tagIDs",
                        destination: "Tag",
                        inverse: "trips"
                    ),
                    RelationshipShape(
                        name: "items",
                        kind: .toMany,
                        destination: "Item",
                        inverse: "trip",
                        deleteRule: .deny
                    ),
                ],
                uniqueness: [["name", "count"]]
            )
        )
        #expect(
            found == [
                "uniqueConstraint Trip.name", "requiredWithoutDefault Trip.name", "uniqueConstraint Trip.name+count",
                "requiredRelationship Trip.guide", "relationshipWithoutInverse Trip.owner", "denyRule Trip.items",
            ]
        )
    }

    @Test func aSchemaThatCloudKitTakesHasNothingFound() {
        let entity = EntityShape(
            name: "Note",
            attributes: [
                .id, AttributeShape(name: "text", kind: .string, defaultValue: .string("")),
                AttributeShape(name: "parentID", kind: .uuid, isOptional: true),
            ],
            relationships: [
                RelationshipShape(
                    name: "parent",
                    kind: .toOne,
                    attribute: "parentID",
                    destination: "Note",
                    inverse: "children"
                ),
                RelationshipShape(
                    name: "children",
                    kind: .toMany,
                    destination: "Note",
                    inverse: "parent",
                    deleteRule: .cascade
                ),
            ]
        )
        #expect(findings(entity).isEmpty)
        // A nil default does not count for an attribute that must not be nil.
        var other = entity
        other.attributes[1].defaultValue = .null
        #expect(findings(other) == ["requiredWithoutDefault Note.text"])
    }

    @Test func theSchemaThatShipsIsJudgedByItsDeclaration() {
        let found = CloudKitLint.findings(in: StoredSchema(HabitSchema.current))
        #expect(found.contains { $0.description == "Tag.name is unique, and CloudKit keeps nothing unique" })
        #expect(
            found.contains { $0.rule == .requiredWithoutDefault && $0.properties == ["date"] && $0.entity == "Entry" }
        )
        #expect(!found.contains { $0.properties.contains("id") || $0.properties.contains("habitID") })
        #expect(found.allSatisfy { $0.rule == .uniqueConstraint || $0.rule == .requiredWithoutDefault })
    }

    @Test func aCoreDataModelIsJudgedWhereSomethingIsDeclared() throws {
        func attribute(_ name: String, optional: Bool, value: String? = nil, in entity: String = "Parent")
            -> CoreDataAttribute
        {
            CoreDataAttribute(
                name: name,
                type: .string,
                isOptional: optional,
                isDerived: false,
                allowsExternalStorage: false,
                defaultValue: value,
                valueClass: nil,
                transformer: nil,
                declaredIn: entity,
                isGuessed: false,
                column: nil
            )
        }
        func relationship(_ name: String, inverse: String?, ordered: Bool, optional: Bool, rule: String)
            -> CoreDataRelationship
        {
            CoreDataRelationship(
                name: name,
                destination: "Parent",
                inverse: inverse,
                isToMany: ordered,
                isOrdered: ordered,
                isOptional: optional,
                deleteRule: rule,
                declaredIn: "Parent",
                isGuessed: false
            )
        }
        func entity(_ name: String, under parent: String?, _ more: [CoreDataAttribute]) -> CoreDataEntity {
            CoreDataEntity(
                name: name,
                number: parent == nil ? 1 : 2,
                superentity: parent,
                root: "Parent",
                isAbstract: false,
                className: nil,
                table: "ZPARENT",
                attributes: [
                    attribute("a", optional: false), attribute("b", optional: true),
                    attribute("c", optional: false, value: "x"),
                ] + more,
                relationships: [
                    relationship("one", inverse: nil, ordered: false, optional: false, rule: "deny"),
                    relationship("many", inverse: "one", ordered: true, optional: true, rule: "cascade"),
                ],
                uniqueness: [["a", "b"]] + (parent == nil ? [] : [["d"]]),
                notStored: []
            )
        }
        let model = CoreDataModel(
            origin: .modelCache,
            entities: [
                entity("Parent", under: nil, []),
                entity("Child", under: "Parent", [attribute("d", optional: false, in: "Child")]),
            ]
        )
        let found = CloudKitLint.findings(in: model).map {
            "\($0.rule.rawValue) \($0.entity).\($0.properties.joined(separator: "+"))"
        }
        #expect(
            found == [
                "uniqueConstraint Parent.a+b", "requiredWithoutDefault Parent.a", "requiredRelationship Parent.one",
                "relationshipWithoutInverse Parent.one", "denyRule Parent.one", "orderedRelationship Parent.many",
                "uniqueConstraint Child.d", "requiredWithoutDefault Child.d",
            ]
        )
    }
}
