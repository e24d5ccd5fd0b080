import Foundation
import HabitStore

/// A word that habits can be marked with.
public struct Tag: PersistentModel {
    /// The identity.
    public var id: UUID
    /// The word; no two tags have the same.
    public var name: String

    /// Makes a tag.
    public init(id: UUID = UUID(), name: String) {
        self.id = id
        self.name = name
    }

    /// The habits marked with it, ascending by identifier. Readable inside a transaction and inside predicates.
    public var habits: [Habit] { RelationshipScope.many(\Tag.habits, of: id) }

    /// The declaration.
    public static let entity = EntityDescription(
        Tag.self,
        attributes: [.id(\Tag.id), .attribute("name", \Tag.name, [.unique, .preserveValueOnDeletion])],
        relationships: [.manyToMany("habits", \Tag.habits, destination: "Habit", inverse: "tags")]
    )

    /// Reads the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(id: try row.nextUUID(), name: try row.nextString())
    }

    /// Writes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}
