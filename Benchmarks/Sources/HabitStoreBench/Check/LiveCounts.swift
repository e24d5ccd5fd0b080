import Foundation
@_spi(Engines) import HabitStore

/// How many records live queries read for changes, which does not depend on when threads have time.
struct LiveCounts {
    private static let changes = 100

    private let directory: URL
    private let data = BenchData(habits: 20, entriesEach: 100)

    init(_ directory: URL) { self.directory = directory }

    func measure() throws -> [(name: String, counts: SteadyCounts)] {
        try [TableEngine.sqlite, .lmdb].flatMap { engine in
            let path = directory.appendingPathComponent("counted-\(engine.rawValue)").path
            let side = try StoreLiveSide(engine, path, data)
            defer { side.close() }
            return [
                ("\(engine.rawValue): live, \(Self.changes) changes of no query", try untouched(side)),
                ("\(engine.rawValue): live, \(Self.changes) changes patched", try patched(side)),
            ]
            .map { ($0.0, SteadyCounts(examined: $0.1)) }
        }
    }

    /// Changes of an attribute by which nobody finds or orders, and which nobody holds.
    private func untouched(_ side: StoreLiveSide) throws -> Int {
        let store = side.store
        let habits = LiveConsumer(store.count(of: FetchDescriptor<PlainHabit>())) { $0.count }
        let entries = data.ranges.prefix(50).map { range in
            LiveConsumer(store.identifiers(of: PlainEntry.range(range.habit, range.from, range.to))) { _ in 1 }
        }
        for consumer in entries { try consumer.wait(for: 1) }
        try habits.wait(for: data.habits.count)
        let before = store.liveQueries.statistics
        for var entry in data.entries.prefix(Self.changes) {
            entry.note = "changed"
            try side.update(entry)
        }
        // Whoever is told of this one has gone past the others; it is read itself.
        try store.write(author: "bench") { try $0.insert(PlainHabit(id: UUID(), name: "last")) }
        try habits.wait(for: data.habits.count + 1)
        withExtendedLifetime(entries) {}
        return try recordsRead(store, since: before) - 1
    }

    /// Changes of records that are in an answer.
    private func patched(_ side: StoreLiveSide) throws -> Int {
        let consumer = side.follow { _, last in Int(last ?? 0) }
        try consumer.wait(for: 0)
        let before = side.store.liveQueries.statistics
        for var entry in data.entries.suffix(Self.changes) {
            entry.value = 1_000
            try side.update(entry)
        }
        try consumer.wait(for: 1_000)
        return try recordsRead(side.store, since: before)
    }

    private func recordsRead(_ store: any EngineBackedStore, since before: LiveQueries.Statistics) throws -> Int {
        let now = store.liveQueries.statistics
        guard now.asked == before.asked, now.different == 0 else {
            throw BenchError("a live query was asked again, which should have been patched")
        }
        return now.recordsRead - before.recordsRead
    }
}
