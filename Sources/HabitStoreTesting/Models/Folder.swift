import Foundation
import HabitStore

/// A record whose parent is another folder; deleting it deletes its children.
struct Folder: PersistentModel {
    var id = UUID()
    var parentID: UUID?

    var parent: Folder? { RelationshipScope.one(\Folder.parent, parentID) }
    var children: [Folder] { RelationshipScope.many(\Folder.children, of: id) }

    init(parentID: UUID? = nil) { self.parentID = parentID }

    static let entity = EntityDescription(
        Folder.self,
        attributes: [
            .id(\Folder.id),
            .attribute("parentID", \Folder.parentID),
        ],
        relationships: [
            .toOne("parent", \Folder.parent, through: "parentID", destination: "Folder", inverse: "children"),
            .toMany("children", \Folder.children, destination: "Folder", inverse: "parent", deleteRule: .cascade),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        parentID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(parentID)
    }
}
