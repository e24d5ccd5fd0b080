import Foundation
import HabitStore

/// A record with a required reference to a hub.
struct Badge: PersistentModel {
    var id = UUID()
    var hubID: UUID

    var hub: Hub? { RelationshipScope.one(\Badge.hub, hubID) }

    init(hubID: UUID) { self.hubID = hubID }

    static let entity = EntityDescription(
        Badge.self,
        attributes: [
            .id(\Badge.id),
            .attribute("hubID", \Badge.hubID),
        ],
        relationships: [
            .toOne("hub", \Badge.hub, through: "hubID", destination: "Hub", inverse: "badges")
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        hubID = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(hubID)
    }
}
