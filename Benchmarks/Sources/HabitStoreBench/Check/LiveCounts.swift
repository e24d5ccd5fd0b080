import CYardstick
import Foundation
@_spi(Engines) import HabitStore

/// Counts the records that live queries read for changes, and the allocations of a change that concerns none of them. Neither depends on thread
/// timing.
struct LiveCounts {
    private static let changes = 100
    /// The number of waiting live queries while allocations are counted.
    private static let waiting = 100
    /// The pause after a change, until all of their threads are idle.
    private static let restMicroseconds: UInt32 = 5_000
    /// The allowed difference between two runs: waking the queries' threads allocates one more or one less.
    private static let margin = 2.0

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
            .map { ($0.0, SteadyCounts(examined: $0.1)) } + (try allocations(side))
        }
    }

    /// The allocations of a change that concerns no live query: in its write, and in the live queries that skip it.
    private func allocations(_ side: StoreLiveSide) throws -> [(name: String, counts: SteadyCounts)] {
        let store = side.store
        let consumers =
            (0..<Self.waiting / 2).map { number in
                let name = "Habit \(number)"
                return LiveConsumer(
                    store.results(of: FetchDescriptor<PlainHabit>(predicate: #Predicate { $0.name == name }))
                ) { _ in 1 }
            } + entries(store, Self.waiting / 2)
        for consumer in consumers { try consumer.wait(for: 1) }
        let before = store.liveQueries.statistics
        var (writers, queries): ([UInt64], [UInt64]) = ([], [])
        writers.reserveCapacity(Self.changes)
        queries.reserveCapacity(Self.changes)
        cy_count_all_allocations(1)
        defer { cy_count_all_allocations(0) }
        for (number, entry) in data.entries.prefix(Self.changes).enumerated() {
            var entry = entry
            entry.note = "counted"
            usleep(Self.restMicroseconds)
            let (own, all) = (cy_thread_allocations(), cy_all_allocations())
            try side.update(entry)
            let written = cy_thread_allocations() - own
            // Live queries skip each change separately.
            try side.settle(changes: before.changes + number + 1)
            usleep(Self.restMicroseconds)
            writers.append(written)
            queries.append(cy_all_allocations() - all - (cy_thread_allocations() - own))
        }
        guard try recordsRead(store, since: before) == 0 else {
            throw BenchError("a live query read a record for a change that does not concern it")
        }
        withExtendedLifetime(consumers) {}
        let name = "\(side.name): live, a change of none of \(Self.waiting) queries"
        return [("\(name), the writer", writers), ("\(name), the queries", queries)]
            .map { ($0.0, SteadyCounts(allocations: Self.median($0.1), margin: Self.margin)) }
    }

    /// Some changes coincide with an unrelated poll of the store, but those are not the median.
    private static func median(_ counts: [UInt64]) -> Double { Double(counts.sorted()[counts.count / 2]) }

    private func entries(_ store: any EngineBackedStore, _ count: Int) -> [LiveConsumer] {
        data.ranges.prefix(count).map { range in
            LiveConsumer(store.identifiers(of: PlainEntry.range(range.habit, range.from, range.to))) { _ in 1 }
        }
    }

    /// Changes an attribute that no live query filters, sorts or contains.
    private func untouched(_ side: StoreLiveSide) throws -> Int {
        let store = side.store
        let habits = LiveConsumer(store.count(of: FetchDescriptor<PlainHabit>())) { $0.count }
        let entries = entries(store, 50)
        for consumer in entries { try consumer.wait(for: 1) }
        try habits.wait(for: data.habits.count)
        let before = store.liveQueries.statistics
        for var entry in data.entries.prefix(Self.changes) {
            entry.note = "changed"
            try side.update(entry)
        }
        // A live query that delivers this change has skipped the others; this one is read itself.
        try store.write(author: "bench") { try $0.insert(PlainHabit(id: UUID(), name: "last")) }
        try habits.wait(for: data.habits.count + 1)
        withExtendedLifetime(entries) {}
        return try recordsRead(store, since: before) - 1
    }

    /// Changes records that are in an answer.
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
            throw BenchError("a live query ran again instead of patching its answer")
        }
        return now.recordsRead - before.recordsRead
    }
}
