import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreTesting
import HabitTracker
import Testing

/// Batches write each database in the order of its keys.
@Suite("LMDB's batches")
struct LMDBBatchTests {
    private func withStore(_ body: (LMDBHabitStore) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        defer { store.close() }
        try body(store)
    }

    /// Names whose keys are truncated, so that they differ only by their identifiers.
    @Test func recordsWhoseKeysAreCutAreAllThere() throws {
        try withStore { store in
            let long = String(repeating: "x", count: 600)
            let habits = (0..<300).map { Habit(name: $0 % 2 == 0 ? long : "\(long)\($0)", streak: $0) }
            try store.insert(habits)
            try store.insert((0..<50).map { Habit(name: "short \($0)") })
            #expect(try store.check { _ in }.isEmpty)
            let found = try store.fetch(FetchDescriptor<Habit>(predicate: #Predicate { $0.name == long }))
            #expect(found.count == 150)
            let sorted = try store.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)]))
            #expect(sorted.map(\.name) == sorted.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }

    /// More than the map of a new file can take: the write is run again in a larger one.
    @Test func aBatchThatOutgrowsTheMapIsWhole() throws {
        try withStore { store in
            let note = String(repeating: "n", count: 400)
            let drafts = (0..<20_000).map { Draft(content: "\($0) \(note)") }
            try store.insert(drafts)
            #expect(try store.fetchCount(FetchDescriptor<Draft>()) == 20_000)
            #expect(try store.fetchHistory(after: .zero).map(\.changes.count) == [20_000])
            #expect(try store.check { _ in }.isEmpty)
            #expect(try Set(store.all(Draft.self).map(\.content)) == Set(drafts.map(\.content)))
        }
    }

    /// After the greatest key pages are filled completely; later records in between must still find room.
    @Test func recordsFindRoomBetweenThoseOfABatch() throws {
        try withStore { store in
            let habit = Habit(name: "Run")
            try store.save(habit)
            func entries(_ count: Int, from first: Double) -> [Entry] {
                (0..<count).map { number in
                    let date = Date(timeIntervalSinceReferenceDate: first + Double(number))
                    return Entry(date: date, note: number % 5 == 0 ? "note \(number)" : nil, habitID: habit.id)
                }
            }
            try store.insert(entries(4_000, from: 0))
            try store.insert(entries(4_000, from: 2_000.5))
            for entry in entries(200, from: 1_000.25) { try store.save(entry) }
            try store.delete(Entry.self, where: #Predicate { $0.note != nil })
            #expect(try store.check { _ in }.isEmpty)
            let dates = try store.fetch(FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date)])).map(\.date)
            #expect(dates.count == 6_560)
            #expect(dates == dates.sorted())
        }
    }
}
