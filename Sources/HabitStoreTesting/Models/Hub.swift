import Foundation
import HabitStore

/// A record that items refer to, with each delete rule.
struct Hub: PersistentModel {
    var id = UUID()

    var cascadingItems: [Item] { RelationshipScope.many(\Hub.cascadingItems, of: id) }
    var nullifiedItems: [Item] { RelationshipScope.many(\Hub.nullifiedItems, of: id) }
    var denyingItems: [Item] { RelationshipScope.many(\Hub.denyingItems, of: id) }
    var lingeringItems: [Item] { RelationshipScope.many(\Hub.lingeringItems, of: id) }
    var badges: [Badge] { RelationshipScope.many(\Hub.badges, of: id) }

    init() {}

    static let entity = EntityDescription(
        Hub.self,
        attributes: [
            .id(\Hub.id)
        ],
        relationships: [
            .toMany(
                "cascadingItems",
                \Hub.cascadingItems,
                destination: "Item",
                inverse: "cascadingHub",
                deleteRule: .cascade
            ),
            .toMany(
                "nullifiedItems",
                \Hub.nullifiedItems,
                destination: "Item",
                inverse: "nullifiedHub",
                deleteRule: .nullify
            ),
            .toMany("denyingItems", \Hub.denyingItems, destination: "Item", inverse: "denyingHub", deleteRule: .deny),
            .toMany(
                "lingeringItems",
                \Hub.lingeringItems,
                destination: "Item",
                inverse: "lingeringHub",
                deleteRule: .noAction
            ),
            .toMany("badges", \Hub.badges, destination: "Badge", inverse: "hub", deleteRule: .nullify),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
    }
}
