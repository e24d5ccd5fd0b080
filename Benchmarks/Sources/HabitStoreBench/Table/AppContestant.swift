import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

/// One of our stores through its public API, as an app calls it.
final class AppContestant: Contestant {
    let name = "ours"
    private let engine: TableEngine
    private let schema: Schema
    private let data: BenchData
    private var store: (any EngineBackedStore)?
    private var path = ""

    init(_ engine: TableEngine, _ layout: EntryLayout, _ data: BenchData) {
        self.engine = engine
        schema = layout.schema
        self.data = data
    }

    /// The store in memory has no file, and looks at every record for each query: it is there to be right.
    func takesPart(in work: Work) -> Bool { engine != .memory || (work != .openReadClose && work != .ranges) }

    private func opened(_ path: String) throws -> any EngineBackedStore {
        switch engine {
        case .sqlite: try SQLiteHabitStore(path: path, schema: schema)
        case .lmdb: try LMDBHabitStore(path: path, schema: schema)
        case .memory: try InMemoryHabitStore(schema: schema)
        }
    }

    func load(_ path: String) throws {
        let store = try opened(path)
        try store.load(data)
        if engine == .memory { self.store = store } else { store.close() }
    }

    func open(_ path: String) throws {
        self.path = path
        if engine != .memory { store = try opened(path) }
    }

    func close() {
        store?.close()
        store = nil
    }

    func perform(_ work: Work, _ number: Int) throws -> UInt64 {
        if work == .openReadClose { return try openReadClose(number) }
        guard let store else { throw BenchError("the store is not open") }
        switch work {
        case .bulkLoad: return UInt64(try store.fetchCount(FetchDescriptor<Entry>()))
        case .readsByIdentifier: return try readIdentifiers(store)
        case .ranges: return try ranges(store)
        case .scan: return try store.all(Entry.self).checksum
        case .filter:
            let wanted = BenchData.needle
            return try store.fetch(
                FetchDescriptor<Entry>(predicate: #Predicate { $0.note.flatMap { $0.contains(wanted) } == true })
            ).checksum
        case .count:
            let limit = BenchData.countedAbove
            return UInt64(
                try store.fetchCount(FetchDescriptor<Entry>(predicate: #Predicate { ($0.value ?? 0) > limit }))
            )
        case .commits, .commitsWithHistory:
            try store.write(author: "bench") { try $0.insert(data.spare[number]) }
            return 1
        case .openReadClose: return 0
        }
    }

    private func readIdentifiers(_ store: any EngineBackedStore) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for id in data.shuffled {
                if let entry = try transaction.model(Entry.self, id: id) { sum &+= entry.checksum }
            }
            return sum
        }
    }

    private func ranges(_ store: any EngineBackedStore) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for (habit, from, to) in data.ranges {
                let descriptor = FetchDescriptor<Entry>(
                    predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
                    sortBy: [SortDescriptor(\.date)]
                )
                sum &+= try transaction.fetch(descriptor).checksum
            }
            return sum
        }
    }

    private func openReadClose(_ number: Int) throws -> UInt64 {
        let store = try opened(path)
        defer { store.close() }
        return try store.model(Entry.self, id: data.shuffled[number])?.checksum ?? 0
    }
}

extension EngineBackedStore {
    /// Everything in one transaction.
    func load(_ data: BenchData) throws {
        try write(author: "bench") { transaction in
            for tag in data.tags { try transaction.insert(tag) }
            for habit in data.habits { try transaction.insert(habit) }
            for entry in data.entries { try transaction.insert(entry) }
        }
    }
}
