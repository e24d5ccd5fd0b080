import Foundation
import HabitStore

/// A record with a reference to a hub for each of the hub's delete rules.
struct Item: PersistentModel {
    var id = UUID()
    var cascadingHubID: UUID?
    var nullifiedHubID: UUID?
    var denyingHubID: UUID?
    var lingeringHubID: UUID?

    var cascadingHub: Hub? { RelationshipScope.one(\Item.cascadingHub, cascadingHubID) }
    var nullifiedHub: Hub? { RelationshipScope.one(\Item.nullifiedHub, nullifiedHubID) }
    var denyingHub: Hub? { RelationshipScope.one(\Item.denyingHub, denyingHubID) }
    var lingeringHub: Hub? { RelationshipScope.one(\Item.lingeringHub, lingeringHubID) }

    init() {}

    static let entity = EntityDescription(
        Item.self,
        attributes: [
            .id(\Item.id),
            .attribute("cascadingHubID", \Item.cascadingHubID),
            .attribute("nullifiedHubID", \Item.nullifiedHubID),
            .attribute("denyingHubID", \Item.denyingHubID),
            .attribute("lingeringHubID", \Item.lingeringHubID),
        ],
        relationships: [
            .toOne(
                "cascadingHub",
                \Item.cascadingHub,
                through: "cascadingHubID",
                destination: "Hub",
                inverse: "cascadingItems"
            ),
            .toOne(
                "nullifiedHub",
                \Item.nullifiedHub,
                through: "nullifiedHubID",
                destination: "Hub",
                inverse: "nullifiedItems"
            ),
            .toOne(
                "denyingHub",
                \Item.denyingHub,
                through: "denyingHubID",
                destination: "Hub",
                inverse: "denyingItems"
            ),
            .toOne(
                "lingeringHub",
                \Item.lingeringHub,
                through: "lingeringHubID",
                destination: "Hub",
                inverse: "lingeringItems"
            ),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingHubID = try row.nextOptionalUUID()
        nullifiedHubID = try row.nextOptionalUUID()
        denyingHubID = try row.nextOptionalUUID()
        lingeringHubID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingHubID)
        row.append(nullifiedHubID)
        row.append(denyingHubID)
        row.append(lingeringHubID)
    }
}
