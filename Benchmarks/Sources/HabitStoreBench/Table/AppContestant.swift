import Foundation
@_spi(Engines) import HabitStore

/// One of this package's stores through its public API, as an app calls it.
final class AppContestant<Record: TableEntry>: Contestant {
    let name = "ours"
    private let engine: TableEngine
    private let data: BenchData
    private let entries: [Record]
    private let spare: [Record]
    private var store: (any EngineBackedStore)?
    private var path = ""

    init(_ engine: TableEngine, _ data: BenchData) {
        self.engine = engine
        self.data = data
        (entries, spare) = (data.entries.map(Record.init), data.spare.map(Record.init))
    }

    /// The store in memory has no file and scans every record for each query: it takes part only to check answers.
    func takesPart(in work: Work) -> Bool {
        engine != .memory || ![.openReadClose, .ranges, .bulkLoadSorted].contains(work)
    }

    func load(_ path: String) throws {
        let store = try engine.open(path, schema: Record.schema)
        try store.write(author: "bench") { transaction in
            try Record.insert(habitsOf: data, transaction)
            try transaction.insert(contentsOf: entries)
        }
        if engine == .memory { self.store = store } else { store.close() }
    }

    func open(_ path: String) throws {
        self.path = path
        if engine != .memory { store = try engine.open(path, schema: Record.schema) }
    }

    func close() {
        store?.close()
        store = nil
    }

    func perform(_ work: Work, _ number: Int) throws -> UInt64 {
        if work == .openReadClose { return try openReadClose(number) }
        guard let store else { throw BenchError("the store is not open") }
        switch work {
        case .bulkLoad, .bulkLoadSorted: return UInt64(try store.fetchCount(FetchDescriptor<Record>()))
        case .readsByIdentifier: return try readIdentifiers(store)
        case .ranges: return try ranges(store)
        case .scan: return try store.all(Record.self).checksum
        case .filter: return try store.fetch(Record.containing(BenchData.needle)).checksum
        case .count: return UInt64(try store.fetchCount(Record.above(BenchData.countedAbove)))
        case .commits, .commitsWithHistory:
            try store.write(author: "bench") { try $0.insert(spare[number]) }
            return 1
        case .openReadClose: return 0
        }
    }

    private func readIdentifiers(_ store: any EngineBackedStore) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for id in data.shuffled {
                if let entry = try transaction.model(Record.self, id: id) { sum &+= entry.checksum }
            }
            return sum
        }
    }

    private func ranges(_ store: any EngineBackedStore) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for (habit, from, to) in data.ranges {
                sum &+= try transaction.fetch(Record.range(habit, from, to)).checksum
            }
            return sum
        }
    }

    private func openReadClose(_ number: Int) throws -> UInt64 {
        let store = try engine.open(path, schema: Record.schema)
        defer { store.close() }
        return try store.model(Record.self, id: data.shuffled[number])?.checksum ?? 0
    }
}

extension EngineBackedStore {
    /// Writes everything in one transaction.
    func load(_ data: BenchData) throws {
        try write(author: "bench") { transaction in
            for tag in data.tags { try transaction.insert(tag) }
            for habit in data.habits { try transaction.insert(habit) }
            try transaction.insert(contentsOf: data.entries)
        }
    }
}
