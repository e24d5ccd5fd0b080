import Foundation
import HabitStore

extension HabitSchemaV2 {
    /// Something to be done again and again.
    public struct Habit: PersistentModel {
        /// The identity.
        public var id: UUID
        /// What it is called.
        public var name: String
        /// When it was begun.
        public var createdAt: Date
        /// The longest run of kept days so far.
        public var streak: Int
        /// A group of the user's own naming.
        public var category: String?
        /// Its tags, separated by commas.
        public var tags: String

        /// Makes a habit.
        public init(
            id: UUID = UUID(),
            name: String,
            createdAt: Date = Date(),
            streak: Int = 0,
            category: String? = nil,
            tags: String = ""
        ) {
            self.id = id
            self.name = name
            self.createdAt = createdAt
            self.streak = streak
            self.category = category
            self.tags = tags
        }

        /// Its entries, ascending by identifier.
        public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

        /// The declaration.
        public static let entity = EntityDescription(
            Habit.self,
            attributes: [
                .id(\Habit.id),
                .attribute("name", \Habit.name, .preserveValueOnDeletion),
                .attribute("createdAt", \Habit.createdAt),
                .attribute("streak", \Habit.streak),
                .attribute("category", \Habit.category),
                .attribute("tags", \Habit.tags),
            ],
            relationships: [
                .toMany("entries", \Habit.entries, destination: "Entry", inverse: "habit", deleteRule: .cascade)
            ],
            indexes: [.index(\Habit.name), .index(\Habit.category), .index(\Habit.createdAt)]
        )

        /// Reads the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            name = try row.nextString()
            createdAt = try row.nextDate()
            streak = try row.nextInt()
            category = try row.nextOptionalString()
            tags = try row.nextString()
        }

        /// Writes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
            try row.append(createdAt)
            row.append(streak)
            row.append(category)
            row.append(tags)
        }
    }
}
