import Foundation
import HabitStore
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreSQLite

/// Batches that are large compared with the table rebuild the indexes, with the same result.
@Suite("SQLite's batches")
struct SQLiteBatchTests {
    private static func entries(_ count: Int, _ habit: Habit) -> [Entry] {
        (0..<count).map { number in
            Entry(date: Date(timeIntervalSinceReferenceDate: Double(number % 97)), note: "\(number)", habitID: habit.id)
        }
    }

    private func version(_ file: SQLiteTestStore) throws -> Int64? {
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        return try connection.int64("PRAGMA schema_version")
    }

    /// The declarations in the file, without their order.
    private func schema(_ file: SQLiteTestStore) throws -> Set<String> {
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        return Set(try connection.texts("SELECT name || ' ' || ifnull(sql, '') FROM sqlite_schema"))
    }

    private func newest() -> FetchDescriptor<Entry> {
        FetchDescriptor(sortBy: [SortDescriptor(\.date, order: .reverse)], fetchLimit: 40)
    }

    @Test func aLargeBatchMakesTheIndexesAnewAndASmallOneDoesNot() throws {
        let file = try SQLiteTestStore()
        let habit = Habit(name: "Run")
        try file.make { try $0.insert(habit) }
        let (before, first) = (try schema(file), try version(file))
        let store = try file.open()
        defer { file.close(store) }
        let other = try file.open()
        defer { other.close() }
        #expect(try other.fetch(newest()).isEmpty)
        let entries = Self.entries(3_000, habit)
        try store.insert(entries)
        let second = try version(file)
        #expect(second != first)
        #expect(try schema(file) == before)
        #expect(try other.fetch(newest()).map(\.date) == store.fetch(newest()).map(\.date))
        #expect(try other.fetchCount(FetchDescriptor<Entry>()) == 3_000)
        #expect(try other.explain(newest()).accessPath == "scan Entry by index Entry(date)")
        try other.insert(Self.entries(100, habit))
        #expect(try version(file) == second)
        #expect(try store.check { _ in }.isEmpty)
    }

    @Test func aRefusedBatchLeavesTheIndexesAsTheyWere() throws {
        let file = try SQLiteTestStore()
        let habit = Habit(name: "Run")
        let known = Entry(note: "known", habitID: habit.id)
        try file.make { transaction in
            try transaction.insert(habit)
            try transaction.insert(known)
        }
        let (before, first) = (try schema(file), try version(file))
        let store = try file.open()
        defer { file.close(store) }
        #expect(throws: HabitStoreError.self) { try store.insert(Self.entries(3_000, habit) + [known]) }
        #expect(try schema(file) == before)
        #expect(try version(file) == first)
        #expect(try store.fetch(newest()) == [known])
        #expect(try store.check { _ in }.isEmpty)
    }

    /// An index that an earlier version declared differently is kept unchanged, and maintained.
    @Test func anIndexOfAnotherMakeIsLeftAlone() throws {
        let file = try SQLiteTestStore()
        let habit = Habit(name: "Run")
        try file.make { try $0.insert(habit) }
        let store = try file.open()
        defer { file.close(store) }
        let raw = try SQLiteConnection(path: file.path, mode: .readWrite)
        try raw.exec("DROP INDEX Entry_by_date; CREATE INDEX Entry_by_date ON Entry(date,id)")
        raw.close()
        try store.insert(Self.entries(2_500, habit))
        let definition = "Entry_by_date CREATE INDEX Entry_by_date ON Entry(date,id)"
        #expect(try schema(file).contains(definition))
        #expect(try store.fetchCount(FetchDescriptor<Entry>()) == 2_500)
    }

    @Test func batchesOfSeveralThreadsAreAllThere() throws {
        let file = try SQLiteTestStore()
        let habit = Habit(name: "Run")
        try file.make { try $0.insert(habit) }
        let store = try file.open()
        defer { file.close(store) }
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                try store.insert(Self.entries(thread == 3 ? 20 : 2_100, habit))
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try store.fetchCount(FetchDescriptor<Entry>()) == 6_320)
        #expect(try store.check { _ in }.isEmpty)
    }
}
