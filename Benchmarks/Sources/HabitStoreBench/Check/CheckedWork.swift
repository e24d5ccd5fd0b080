import CYardstick
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker

/// Work whose allocations, records and instructions are the same in each run.
struct CheckedWork {
    let name: String
    /// The divisor of the counts.
    let operations: Int
    /// Runs before each measurement, and is not counted.
    var prepare: () throws -> Void = {}
    let body: () throws -> Void
    /// The number of records that the store examines, for work with a query.
    var examined: (() throws -> Int)?

    /// All works on both engines, in stores of a few thousand entries.
    static func all(_ directory: URL) throws -> [CheckedWork] {
        let data = BenchData(habits: 20, entriesEach: 100, spare: 64)
        let engines = try [TableEngine.sqlite, .lmdb].flatMap { engine in
            let stores = try CheckedStores(engine, data, directory)
            return [
                stores.readsByIdentifier, stores.singleReads, stores.ranges, stores.scan, stores.filter, stores.count,
                stores.commits, stores.bulkLoad, stores.openings,
            ] + (try CheckedModels.works(engine, directory))
        }
        return engines + (try CheckedUser(data, directory).works)
    }
}

/// A user's store at the stage `off`, served by SQLite alone, and one at `live`, where each write goes to both stores.
private final class CheckedUser {
    private let data: BenchData
    private let users: RolloutUsers
    private let store: UserStore
    private let live: UserStore
    private let made: UserStores

    init(_ data: BenchData, _ directory: URL) throws {
        self.data = data
        users = try RolloutUsers(directory.appendingPathComponent("checked-user"))
        store = try users.stores().store(for: "checked")
        try store.write(author: "bench") { transaction in
            for habit in data.habits { try transaction.insert(habit) }
            for entry in data.entries { try transaction.insert(entry) }
        }
        live = try users.store(try users.stores(), "live", at: .live)
        try live.write(author: "bench") { transaction in
            for habit in data.habits { try transaction.insert(habit) }
        }
        // Another user, whose store is closed.
        made = try users.stores()
        let other = try made.store(for: "opened")
        try other.save(Draft(content: "a record"))
        other.close()
    }

    var works: [CheckedWork] {
        let (ids, store, live, users, made) = (data.shuffled.prefix(200), store, live, users, made)
        let habit = data.habits.first
        return [
            CheckedWork(name: "a user's, live: commit of one entry", operations: 20) {
                for _ in 0..<20 { try live.save(Entry(date: .distantPast, habitID: habit?.id)) }
            },
            CheckedWork(name: "a user's, SQLite: read by id, a transaction each", operations: ids.count) {
                for id in ids { _ = try store.model(Entry.self, id: id) }
            },
            CheckedWork(name: "users' stores: made, with a flag file", operations: 10) {
                for _ in 0..<10 { _ = try users.stores() }
            },
            // One `UserStores` for all users, as in an app.
            CheckedWork(name: "a user's, SQLite: open, one read, close", operations: 10) {
                for _ in 0..<10 {
                    let opened = try made.store(for: "opened")
                    _ = try opened.model(Draft.self, id: UUID())
                    opened.close()
                }
            },
        ]
    }
}

/// The works on one engine's stores.
private final class CheckedStores {
    private let engine: TableEngine
    private let data: BenchData
    private let store: any EngineBackedStore
    private let directory: URL
    private var empty: (any EngineBackedStore)?
    private var commitsDone = 0

    init(_ engine: TableEngine, _ data: BenchData, _ directory: URL) throws {
        (self.engine, self.data, self.directory) = (engine, data, directory)
        store = try engine.open(directory.appendingPathComponent("checked-\(engine.rawValue)").path)
        try store.load(data)
    }

    private func work(
        _ name: String,
        _ operations: Int,
        examining descriptor: FetchDescriptor<Entry>? = nil,
        _ body: @escaping () throws -> Void
    ) -> CheckedWork {
        let store = store
        var work = CheckedWork(name: "\(engine.rawValue): \(name)", operations: operations, body: body)
        if let descriptor {
            work.examined = { try store.read { try $0.analyze(descriptor).statistics.examined } }
        }
        return work
    }

    var readsByIdentifier: CheckedWork {
        let (ids, store) = (data.shuffled.prefix(500), store)
        return work("read by id", ids.count) {
            try store.read { transaction in
                for id in ids { _ = try transaction.model(Entry.self, id: id) }
            }
        }
    }

    var singleReads: CheckedWork {
        let (ids, store) = (data.shuffled.prefix(200), store)
        return work("read by id, a transaction each", ids.count) {
            for id in ids { _ = try store.model(Entry.self, id: id) }
        }
    }

    /// Opens a closed store.
    var openings: CheckedWork {
        let (engine, path) = (engine, directory.appendingPathComponent("opened-\(engine.rawValue)").path)
        return work("open, one read, close", 10) {
            for _ in 0..<10 {
                let store = try engine.open(path)
                _ = try store.model(Entry.self, id: UUID())
                store.close()
            }
        }
    }

    var ranges: CheckedWork {
        let (ranges, store) = (data.ranges.prefix(100), store)
        func descriptor(_ range: (habit: UUID, from: Date, to: Date)) -> FetchDescriptor<Entry> {
            let (habit, from, to) = range
            return FetchDescriptor(
                predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
                sortBy: [SortDescriptor(\.date)]
            )
        }
        return work("date range of one habit", ranges.count, examining: ranges.first.map(descriptor)) {
            try store.read { transaction in
                for range in ranges { _ = try transaction.fetch(descriptor(range)) }
            }
        }
    }

    var scan: CheckedWork {
        let store = store
        return work("full scan, an entry", data.entries.count, examining: FetchDescriptor()) {
            _ = try store.all(Entry.self)
        }
    }

    var filter: CheckedWork {
        let (wanted, store) = (BenchData.needle, store)
        let descriptor = FetchDescriptor<Entry>(
            predicate: #Predicate { $0.note.flatMap { $0.contains(wanted) } == true }
        )
        return work("note contains, an entry", data.entries.count, examining: descriptor) {
            _ = try store.fetch(descriptor)
        }
    }

    var count: CheckedWork {
        let (limit, store) = (BenchData.countedAbove, store)
        let descriptor = FetchDescriptor<Entry>(predicate: #Predicate { ($0.value ?? 0) > limit })
        return work("count of values above, an entry", data.entries.count, examining: descriptor) {
            _ = try store.fetchCount(descriptor)
        }
    }

    var commits: CheckedWork {
        let (data, store, each) = (data, store, 10)
        return work("commit of one entry", each) { [self] in
            for entry in data.spare[commitsDone..<commitsDone + each] {
                try store.write(author: "bench") { try $0.insert(entry) }
            }
            commitsDone += each
        }
    }

    var bulkLoad: CheckedWork {
        var made = work("bulk load, an entry", data.entries.count) { [self] in try empty?.load(data) }
        made.prepare = { [self] in
            empty = try engine.open(directory.appendingPathComponent("loaded-\(UUID())").path)
        }
        return made
    }
}
