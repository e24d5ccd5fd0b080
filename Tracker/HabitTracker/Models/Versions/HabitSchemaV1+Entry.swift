import Foundation
import HabitStore

extension HabitSchemaV1 {
    /// One completion of a habit.
    public struct Entry: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The time of the completion.
        public var date: Date
        /// A note.
        public var note: String?
        /// The amount.
        public var value: Double?
        /// The identifier of the habit.
        public var habitID: UUID?

        /// Creates an entry.
        public init(id: UUID = UUID(), date: Date = Date(), note: String? = nil, value: Double? = nil, habitID: UUID?) {
            self.id = id
            self.date = date
            self.note = note
            self.value = value
            self.habitID = habitID
        }

        /// The habit; nil if there is none.
        public var habit: Habit? { RelationshipScope.one(\Entry.habit, habitID) }

        /// The entity description.
        public static let entity = EntityDescription(
            Entry.self,
            attributes: [
                .id(\Entry.id),
                .attribute("date", \Entry.date, .preserveValueOnDeletion),
                .attribute("note", \Entry.note),
                .attribute("value", \Entry.value),
                .attribute("habitID", \Entry.habitID, .preserveValueOnDeletion),
            ],
            relationships: [
                .toOne("habit", \Entry.habit, through: "habitID", destination: "Habit", inverse: "entries")
            ],
            indexes: [.index(\Entry.habitID, \Entry.date).clustering(), .index(\Entry.date)]
        )

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            date = try row.nextDate()
            note = try row.nextOptionalString()
            value = try row.nextOptionalDouble()
            habitID = try row.nextOptionalUUID()
        }

        /// Encodes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(date)
            row.append(note)
            try row.append(value)
            row.append(habitID)
        }
    }
}
