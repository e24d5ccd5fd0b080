import Foundation
import HabitStore
import HabitTracker

/// The same entry without a clustering index, declared outside the library as an app declares its models.
struct PlainEntry: PersistentModel {
    var id: UUID
    var date: Date
    var note: String?
    var value: Double?
    var habitID: UUID?

    var habit: PlainHabit? { RelationshipScope.one(\PlainEntry.habit, habitID) }

    static let entity = EntityDescription(
        PlainEntry.self,
        attributes: [
            .id(\PlainEntry.id),
            .attribute("date", \PlainEntry.date, .preserveValueOnDeletion),
            .attribute("note", \PlainEntry.note),
            .attribute("value", \PlainEntry.value),
            .attribute("habitID", \PlainEntry.habitID, .preserveValueOnDeletion),
        ],
        relationships: [
            .toOne(
                "habit",
                \PlainEntry.habit,
                through: "habitID",
                destination: "PlainHabit",
                inverse: "entries"
            )
        ],
        indexes: [.index(\PlainEntry.habitID, \PlainEntry.date), .index(\PlainEntry.date)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        date = try row.nextDate()
        note = try row.nextOptionalString()
        value = try row.nextOptionalDouble()
        habitID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(date)
        row.append(note)
        try row.append(value)
        row.append(habitID)
    }
}

/// The habit of a ``PlainEntry``.
struct PlainHabit: PersistentModel {
    var id: UUID
    var name: String

    var entries: [PlainEntry] { RelationshipScope.many(\PlainHabit.entries, of: id) }

    static let entity = EntityDescription(
        PlainHabit.self,
        attributes: [.id(\PlainHabit.id), .attribute("name", \PlainHabit.name)],
        relationships: [
            .toMany("entries", \PlainHabit.entries, destination: "PlainEntry", inverse: "habit", deleteRule: .cascade)
        ]
    )

    init(id: UUID, name: String) { (self.id, self.name) = (id, name) }

    init(row: inout AttributeReader) throws {
        self.init(id: try row.nextUUID(), name: try row.nextString())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}

extension PlainEntry: TableEntry {
    static let schema = Schema([PlainHabit.self, PlainEntry.self], version: .init(1, 0, 0))

    init(_ entry: Entry) {
        (id, date, note) = (entry.id, entry.date, entry.note)
        (value, habitID) = (entry.value, entry.habitID)
    }

    static func range(_ habit: UUID, _ from: Date, _ to: Date) -> FetchDescriptor<PlainEntry> {
        FetchDescriptor(
            predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
            sortBy: [SortDescriptor(\.date)]
        )
    }

    static func containing(_ text: String) -> FetchDescriptor<PlainEntry> {
        FetchDescriptor(predicate: #Predicate { $0.note.flatMap { $0.contains(text) } == true })
    }

    static func above(_ number: Double) -> FetchDescriptor<PlainEntry> {
        FetchDescriptor(predicate: #Predicate { ($0.value ?? 0) > number })
    }

    static func insert(habitsOf data: BenchData, _ transaction: any WriteTransaction) throws {
        for habit in data.habits { try transaction.insert(PlainHabit(id: habit.id, name: habit.name)) }
    }
}
