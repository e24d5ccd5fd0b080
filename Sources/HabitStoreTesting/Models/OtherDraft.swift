import Foundation
import HabitStore

/// An entity with the name of ``HabitStore/Draft`` and different attributes.
struct OtherDraft: PersistentModel {
    var id: UUID
    var content: String

    static let entity = EntityDescription(
        OtherDraft.self,
        name: "Draft",
        attributes: [.id(\OtherDraft.id), .attribute("content", \OtherDraft.content)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        content = try row.nextString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(content)
    }
}
