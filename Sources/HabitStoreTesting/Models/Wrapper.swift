import Foundation
import HabitStore

/// A record with a reference and links to leaves for each delete rule on its side.
struct Wrapper: PersistentModel {
    var id = UUID()
    var cascadingLeafID: UUID?
    var nullifiedLeafID: UUID?
    var denyingLeafID: UUID?
    var lingeringLeafID: UUID?
    var cascadingLinkIDs: Set<UUID> = []
    var nullifiedLinkIDs: Set<UUID> = []
    var denyingLinkIDs: Set<UUID> = []
    var lingeringLinkIDs: Set<UUID> = []

    var cascadingLeaf: Leaf? { RelationshipScope.one(\Wrapper.cascadingLeaf, cascadingLeafID) }
    var nullifiedLeaf: Leaf? { RelationshipScope.one(\Wrapper.nullifiedLeaf, nullifiedLeafID) }
    var denyingLeaf: Leaf? { RelationshipScope.one(\Wrapper.denyingLeaf, denyingLeafID) }
    var lingeringLeaf: Leaf? { RelationshipScope.one(\Wrapper.lingeringLeaf, lingeringLeafID) }
    var cascadingLinks: [Leaf] { RelationshipScope.linked(\Wrapper.cascadingLinks, cascadingLinkIDs) }
    var nullifiedLinks: [Leaf] { RelationshipScope.linked(\Wrapper.nullifiedLinks, nullifiedLinkIDs) }
    var denyingLinks: [Leaf] { RelationshipScope.linked(\Wrapper.denyingLinks, denyingLinkIDs) }
    var lingeringLinks: [Leaf] { RelationshipScope.linked(\Wrapper.lingeringLinks, lingeringLinkIDs) }

    init() {}

    static let entity = EntityDescription(
        Wrapper.self,
        attributes: [
            .id(\Wrapper.id),
            .attribute("cascadingLeafID", \Wrapper.cascadingLeafID),
            .attribute("nullifiedLeafID", \Wrapper.nullifiedLeafID),
            .attribute("denyingLeafID", \Wrapper.denyingLeafID),
            .attribute("lingeringLeafID", \Wrapper.lingeringLeafID),
            .attribute("cascadingLinkIDs", \Wrapper.cascadingLinkIDs),
            .attribute("nullifiedLinkIDs", \Wrapper.nullifiedLinkIDs),
            .attribute("denyingLinkIDs", \Wrapper.denyingLinkIDs),
            .attribute("lingeringLinkIDs", \Wrapper.lingeringLinkIDs),
        ],
        relationships: [
            .toOne(
                "cascadingLeaf",
                \Wrapper.cascadingLeaf,
                through: "cascadingLeafID",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .cascade
            ),
            .toOne(
                "nullifiedLeaf",
                \Wrapper.nullifiedLeaf,
                through: "nullifiedLeafID",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .nullify
            ),
            .toOne(
                "denyingLeaf",
                \Wrapper.denyingLeaf,
                through: "denyingLeafID",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .deny
            ),
            .toOne(
                "lingeringLeaf",
                \Wrapper.lingeringLeaf,
                through: "lingeringLeafID",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .noAction
            ),
            .manyToMany(
                "cascadingLinks",
                \Wrapper.cascadingLinks,
                through: "cascadingLinkIDs",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .cascade
            ),
            .manyToMany(
                "nullifiedLinks",
                \Wrapper.nullifiedLinks,
                through: "nullifiedLinkIDs",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .nullify
            ),
            .manyToMany(
                "denyingLinks",
                \Wrapper.denyingLinks,
                through: "denyingLinkIDs",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .deny
            ),
            .manyToMany(
                "lingeringLinks",
                \Wrapper.lingeringLinks,
                through: "lingeringLinkIDs",
                destination: "Leaf",
                inverse: nil,
                deleteRule: .noAction
            ),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingLeafID = try row.nextOptionalUUID()
        nullifiedLeafID = try row.nextOptionalUUID()
        denyingLeafID = try row.nextOptionalUUID()
        lingeringLeafID = try row.nextOptionalUUID()
        cascadingLinkIDs = Set(try row.nextLinks())
        nullifiedLinkIDs = Set(try row.nextLinks())
        denyingLinkIDs = Set(try row.nextLinks())
        lingeringLinkIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingLeafID)
        row.append(nullifiedLeafID)
        row.append(denyingLeafID)
        row.append(lingeringLeafID)
        row.append(cascadingLinkIDs)
        row.append(nullifiedLinkIDs)
        row.append(denyingLinkIDs)
        row.append(lingeringLinkIDs)
    }
}
