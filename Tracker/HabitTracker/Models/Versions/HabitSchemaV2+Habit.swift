import Foundation
import HabitStore

extension HabitSchemaV2 {
    /// A recurring activity.
    public struct Habit: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The name.
        public var name: String
        /// The creation date.
        public var createdAt: Date
        /// The longest streak in days.
        public var streak: Int
        /// A category chosen by the user.
        public var category: String?
        /// The tags, separated by commas.
        public var tags: String

        /// Creates a habit.
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

        /// The entries, ascending by identifier.
        public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

        /// The entity description.
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

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            name = try row.nextString()
            createdAt = try row.nextDate()
            streak = try row.nextInt()
            category = try row.nextOptionalString()
            tags = try row.nextString()
        }

        /// Encodes the attributes in their declared order.
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
