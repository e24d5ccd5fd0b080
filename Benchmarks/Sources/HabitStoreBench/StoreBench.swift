import CYardstick
import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

/// One engine measured both ways: through the public API, as an app calls it, and by hand in C.
protocol BenchEngine {
    var name: String { get }
    func openStore(_ path: String) throws -> any EngineBackedStore
    func loadByHand(_ path: String, _ data: BenchData) throws
    func openByHand(_ path: String) throws -> any YardstickStore
}

/// The yardstick's side of an engine. Each operation gives the checksum of what it read.
protocol YardstickStore {
    func readIdentifiers(_ ids: [UInt8], _ count: Int) throws -> UInt64
    func ranges(_ ranges: [cy_range]) throws -> UInt64
    func scan() throws -> UInt64
    func close()
}

/// The public API's side of every engine.
struct StoreOperations {
    let store: any EngineBackedStore

    static func load(_ store: any EngineBackedStore, _ data: BenchData) throws {
        try store.write(author: "bench") { transaction in
            for tag in data.tags { try transaction.insert(tag) }
            for habit in data.habits { try transaction.insert(habit) }
            for entry in data.entries { try transaction.insert(entry) }
        }
    }

    func readIdentifiers(_ ids: [UUID]) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for id in ids { if let entry = try transaction.model(Entry.self, id: id) { sum &+= entry.checksum } }
            return sum
        }
    }

    func ranges(_ ranges: [(habit: UUID, from: Date, to: Date)]) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for (habit, from, to) in ranges {
                let descriptor = FetchDescriptor<Entry>(
                    predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
                    sortBy: [SortDescriptor(\.date)]
                )
                sum &+= try transaction.fetch(descriptor).checksum
            }
            return sum
        }
    }

    func scan() throws -> UInt64 { try store.all(Entry.self).checksum }
}

struct SQLiteBench: BenchEngine {
    let name = "SQLite"

    func openStore(_ path: String) throws -> any EngineBackedStore { try SQLiteHabitStore(path: path) }

    func loadByHand(_ path: String, _ data: BenchData) throws {
        try check(data.withCEntries { cy_sqlite_load(path, $0, $1, data.habitBytes, data.habits.count) })
    }

    func openByHand(_ path: String) throws -> any YardstickStore { try SQLiteYardstick(path) }
}

struct LMDBBench: BenchEngine {
    let name = "LMDB"

    func openStore(_ path: String) throws -> any EngineBackedStore { try LMDBHabitStore(path: path) }

    func loadByHand(_ path: String, _ data: BenchData) throws {
        try check(data.withCEntries { cy_lmdb_load(path, $0, $1, data.habitBytes, data.habits.count) })
    }

    func openByHand(_ path: String) throws -> any YardstickStore { try LMDBYardstick(path) }
}

private final class SQLiteYardstick: YardstickStore {
    private var handle: OpaquePointer?

    init(_ path: String) throws { try check(cy_sqlite_open(path, &handle)) }

    func readIdentifiers(_ ids: [UInt8], _ count: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        try check(cy_sqlite_read_ids(handle, ids, count, &sum))
        return sum
    }

    func ranges(_ ranges: [cy_range]) throws -> UInt64 {
        var sum: UInt64 = 0
        try check(cy_sqlite_ranges(handle, ranges, ranges.count, &sum))
        return sum
    }

    func scan() throws -> UInt64 {
        var list = cy_list()
        defer { cy_list_free(&list) }
        try check(cy_sqlite_scan(handle, &list))
        return cy_list_checksum(&list)
    }

    func close() { cy_sqlite_close(handle) }
}

private final class LMDBYardstick: YardstickStore {
    private var handle: OpaquePointer?

    init(_ path: String) throws { try check(cy_lmdb_open(path, &handle)) }

    func readIdentifiers(_ ids: [UInt8], _ count: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        try check(cy_lmdb_read_ids(handle, ids, count, &sum))
        return sum
    }

    func ranges(_ ranges: [cy_range]) throws -> UInt64 {
        var sum: UInt64 = 0
        try check(cy_lmdb_ranges(handle, ranges, ranges.count, &sum))
        return sum
    }

    func scan() throws -> UInt64 {
        var list = cy_list()
        defer { cy_list_free(&list) }
        try check(cy_lmdb_scan(handle, &list))
        return cy_list_checksum(&list)
    }

    func close() { cy_lmdb_close(handle) }
}

private func check(_ result: Int32) throws {
    guard result == 0 else { throw BenchError("the yardstick failed with code \(result)") }
}
