import Foundation
import HabitStore

/// A label for habits.
public struct Tag: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The name, which is unique.
    public var name: String

    /// Creates a tag.
    public init(id: UUID = UUID(), name: String) {
        self.id = id
        self.name = name
    }

    /// The habits with this tag, ascending by identifier. Readable inside a transaction and inside predicates.
    public var habits: [Habit] { RelationshipScope.many(\Tag.habits, of: id) }

    /// The entity description.
    public static let entity = EntityDescription(
        Tag.self,
        attributes: [.id(\Tag.id), .attribute("name", \Tag.name, [.unique, .preserveValueOnDeletion])],
        relationships: [.manyToMany("habits", \Tag.habits, destination: "Habit", inverse: "tags")]
    )

    /// Decodes the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(id: try row.nextUUID(), name: try row.nextString())
    }

    /// Encodes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}
