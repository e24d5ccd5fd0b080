import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// One of this package's stores.
final class StoreLiveSide: LiveSide {
    let name: String
    let store: any EngineBackedStore

    /// Creates a store with the data's habits and entries.
    init(_ engine: TableEngine, _ path: String, _ data: BenchData) throws {
        name = engine.rawValue
        store = try engine.open(path, schema: PlainEntry.schema)
        try store.write(author: "bench") { transaction in
            try PlainEntry.insert(habitsOf: data, transaction)
            try transaction.insert(contentsOf: data.entries.map(PlainEntry.init))
        }
    }

    func insert(_ entry: Entry) throws { try store.write(author: "bench") { try $0.insert(PlainEntry(entry)) } }

    func update(_ entry: Entry) throws { try store.write(author: "bench") { try $0.save(PlainEntry(entry)) } }

    func follow(_ progress: @escaping @Sendable (Int, Double?) -> Int) -> LiveConsumer {
        LiveConsumer(store.results(of: FetchDescriptor(sortBy: [SortDescriptor(\PlainEntry.date)]))) { change in
            progress(change.records.count, change.records.last?.value)
        }
    }

    /// Waits until the live queries have skipped or handled this many changes since the store was opened.
    func settle(changes: Int) throws {
        let end = ContinuousClock.now + .seconds(60)
        while store.liveQueries.statistics.changes < changes {
            guard ContinuousClock.now < end else { throw BenchError("the live queries have stopped") }
            usleep(500)
        }
    }

    func close() { store.close() }
}
