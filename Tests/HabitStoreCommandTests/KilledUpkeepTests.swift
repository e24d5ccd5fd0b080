import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreLMDB
@testable import HabitStoreSQLite

/// A store of an earlier version gets its index copies in one transaction: a process that is killed in it leaves the store unchanged.
struct KilledUpkeepTests {
    private static let entries = 2_000

    /// Makes a store as an earlier version would have written it: the index over habit and date has only keys.
    private func makeOlder(_ path: String) throws {
        guard path.hasSuffix(".lmdb") else {
            let connection = try SQLiteConnection(path: path, mode: .readWrite)
            defer { connection.close() }
            try connection.exec("DROP INDEX IF EXISTS Entry_by_habitID_date")
            try connection.exec("CREATE INDEX Entry_by_habitID_date ON Entry (habitID, date, id)")
            return try connection.exec("DELETE FROM habitstore_metadata WHERE key = 'indexes'")
        }
        let environment = try LMDBEnvironment.open(path: path)
        defer { environment.close() }
        let names = ["metadata", "Entry.habitID+date"]
        let databases = try environment.openDatabases(names: names, create: false)
        try environment.withWrite { transaction in
            var keys: [[UInt8]] = []
            try transaction.forEach(databases[1]) { record in
                keys.append(Array(record.key))
                return true
            }
            for key in keys { try transaction.put(databases[1], key, []) }
            let list = try #require(try transaction.get(databases[0], Array("indexes".utf8)))
            let older = String(decoding: list, as: UTF8.self).replacingOccurrences(of: " (clustering)", with: "")
            try transaction.put(databases[0], Array("indexes".utf8), Array(older.utf8))
        }
    }

    private func open(_ path: String) throws -> any EngineBackedStore {
        path.hasSuffix(".lmdb")
            ? try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
            : try SQLiteHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
    }

    /// - Returns: whether the store has its index copies.
    private func requireSound(_ path: String, _ habit: UUID?) throws -> Bool {
        let store = try open(path)
        defer { store.close() }
        #expect(try store.check { _ in }.isEmpty)
        let byHabit = FetchDescriptor<Entry>(
            predicate: #Predicate { $0.habitID == habit },
            sortBy: [SortDescriptor(\.date)]
        )
        #expect(try store.fetch(byHabit).map(\.value) == (0..<Self.entries).map { Double($0) })
        return try store.explain(byHabit).accessPath.hasPrefix("clustering")
    }

    @Test(arguments: ["store.sqlite", "store.lmdb"])
    func whoeverIsKilledWhileCopiesAreMadeLeavesTheStoreAsItWas(_ name: String) throws {
        let sandbox = try Sandbox()
        let habit = Habit(name: "Run")
        let source = try SQLiteHabitStore(path: sandbox.path("source.sqlite"), schema: HabitSchema.current)
        try source.save(habit)
        try source.insert(
            (0..<Self.entries).map { number in
                let date = Date(timeIntervalSinceReferenceDate: Double(number))
                return Entry(date: date, note: "note \(number)", value: Double(number), habitID: habit.id)
            }
        )
        source.close()
        try sandbox.run("copy", "source.sqlite", "\(name.hasSuffix("lmdb") ? "lmdb" : "sqlite"):\(name)")
            .expectSuccess()
        try makeOlder(sandbox.path(name))
        #expect(try !requireSound(sandbox.path(name), habit.id))
        // Kills the command later and later, until it finishes first.
        var milliseconds = 25
        while milliseconds < 60_000 {
            let wasKilled = try run(sandbox, ["copy", "source.sqlite", name], killedAfterMilliseconds: milliseconds)
            let hasCopies = try requireSound(sandbox.path(name), habit.id)
            guard wasKilled else {
                #expect(hasCopies)
                return
            }
            if hasCopies { try makeOlder(sandbox.path(name)) }
            milliseconds = milliseconds * 4 / 3
        }
        Issue.record("the command took more than a minute")
    }

    /// - Returns: whether the command was killed before it ended.
    private func run(_ sandbox: Sandbox, _ arguments: [String], killedAfterMilliseconds time: Int) throws -> Bool {
        try sandbox.start(arguments).kill(afterSeconds: Double(time) / 1_000)
    }
}
