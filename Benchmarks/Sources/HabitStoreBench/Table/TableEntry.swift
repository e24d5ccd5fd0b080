import Foundation
import HabitStore
import HabitTracker

/// An entry in the declaration of one layout, with the table's queries as an app would write them.
protocol TableEntry: PersistentModel, EntryFields {
    /// The schema with this entry and its habit.
    static var schema: Schema { get }

    init(_ entry: Entry)

    static func range(_ habit: UUID, _ from: Date, _ to: Date) -> FetchDescriptor<Self>
    static func containing(_ text: String) -> FetchDescriptor<Self>
    static func above(_ number: Double) -> FetchDescriptor<Self>

    static func insert(habitsOf data: BenchData, _ transaction: any WriteTransaction) throws
}

/// The habit tracker's own entry, whose index on habit and date is clustering.
extension Entry: TableEntry {
    static var schema: Schema { HabitSchema.current }

    init(_ entry: Entry) { self = entry }

    static func range(_ habit: UUID, _ from: Date, _ to: Date) -> FetchDescriptor<Entry> {
        FetchDescriptor(
            predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
            sortBy: [SortDescriptor(\.date)]
        )
    }

    static func containing(_ text: String) -> FetchDescriptor<Entry> {
        FetchDescriptor(predicate: #Predicate { $0.note.flatMap { $0.contains(text) } == true })
    }

    static func above(_ number: Double) -> FetchDescriptor<Entry> {
        FetchDescriptor(predicate: #Predicate { ($0.value ?? 0) > number })
    }

    static func insert(habitsOf data: BenchData, _ transaction: any WriteTransaction) throws {
        for habit in data.habits { try transaction.insert(habit) }
    }
}
