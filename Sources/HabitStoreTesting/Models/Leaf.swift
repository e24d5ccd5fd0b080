import Foundation
import HabitStore

/// A record that bouquets link to, with each delete rule.
struct Leaf: PersistentModel {
    var id = UUID()

    var cascadingBouquets: [Bouquet] { RelationshipScope.many(\Leaf.cascadingBouquets, of: id) }
    var nullifiedBouquets: [Bouquet] { RelationshipScope.many(\Leaf.nullifiedBouquets, of: id) }
    var denyingBouquets: [Bouquet] { RelationshipScope.many(\Leaf.denyingBouquets, of: id) }
    var lingeringBouquets: [Bouquet] { RelationshipScope.many(\Leaf.lingeringBouquets, of: id) }

    init() {}

    static let entity = EntityDescription(
        Leaf.self,
        attributes: [
            .id(\Leaf.id)
        ],
        relationships: [
            .manyToMany(
                "cascadingBouquets",
                \Leaf.cascadingBouquets,
                destination: "Bouquet",
                inverse: "cascadingLeaves",
                deleteRule: .cascade
            ),
            .manyToMany(
                "nullifiedBouquets",
                \Leaf.nullifiedBouquets,
                destination: "Bouquet",
                inverse: "nullifiedLeaves",
                deleteRule: .nullify
            ),
            .manyToMany(
                "denyingBouquets",
                \Leaf.denyingBouquets,
                destination: "Bouquet",
                inverse: "denyingLeaves",
                deleteRule: .deny
            ),
            .manyToMany(
                "lingeringBouquets",
                \Leaf.lingeringBouquets,
                destination: "Bouquet",
                inverse: "lingeringLeaves",
                deleteRule: .noAction
            ),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
    }
}
