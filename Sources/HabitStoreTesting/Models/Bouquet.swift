import Foundation
import HabitStore

/// A record with links to leaves for each of the leaf's delete rules.
struct Bouquet: PersistentModel {
    var id = UUID()
    var cascadingLeafIDs: Set<UUID> = []
    var nullifiedLeafIDs: Set<UUID> = []
    var denyingLeafIDs: Set<UUID> = []
    var lingeringLeafIDs: Set<UUID> = []

    var cascadingLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.cascadingLeaves, cascadingLeafIDs) }
    var nullifiedLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.nullifiedLeaves, nullifiedLeafIDs) }
    var denyingLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.denyingLeaves, denyingLeafIDs) }
    var lingeringLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.lingeringLeaves, lingeringLeafIDs) }

    init() {}

    static let entity = EntityDescription(
        Bouquet.self,
        attributes: [
            .id(\Bouquet.id),
            .attribute("cascadingLeafIDs", \Bouquet.cascadingLeafIDs),
            .attribute("nullifiedLeafIDs", \Bouquet.nullifiedLeafIDs),
            .attribute("denyingLeafIDs", \Bouquet.denyingLeafIDs),
            .attribute("lingeringLeafIDs", \Bouquet.lingeringLeafIDs),
        ],
        relationships: [
            .manyToMany(
                "cascadingLeaves",
                \Bouquet.cascadingLeaves,
                through: "cascadingLeafIDs",
                destination: "Leaf",
                inverse: "cascadingBouquets"
            ),
            .manyToMany(
                "nullifiedLeaves",
                \Bouquet.nullifiedLeaves,
                through: "nullifiedLeafIDs",
                destination: "Leaf",
                inverse: "nullifiedBouquets"
            ),
            .manyToMany(
                "denyingLeaves",
                \Bouquet.denyingLeaves,
                through: "denyingLeafIDs",
                destination: "Leaf",
                inverse: "denyingBouquets"
            ),
            .manyToMany(
                "lingeringLeaves",
                \Bouquet.lingeringLeaves,
                through: "lingeringLeafIDs",
                destination: "Leaf",
                inverse: "lingeringBouquets"
            ),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingLeafIDs = Set(try row.nextLinks())
        nullifiedLeafIDs = Set(try row.nextLinks())
        denyingLeafIDs = Set(try row.nextLinks())
        lingeringLeafIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingLeafIDs)
        row.append(nullifiedLeafIDs)
        row.append(denyingLeafIDs)
        row.append(lingeringLeafIDs)
    }
}
