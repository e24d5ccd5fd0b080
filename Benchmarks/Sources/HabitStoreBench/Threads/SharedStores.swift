import Foundation
import HabitStore

/// This package's stores, each shared by all threads, as in an app.
final class SharedStores: ThreadSide {
    private let stores: [any HabitStore]
    private let closing: @Sendable () -> Void
    private let identifiers: [UUID]
    private let spare: [PlainEntry]

    init(_ stores: [any HabitStore], _ data: BenchData, closing: @escaping @Sendable () -> Void) {
        (self.stores, self.closing) = (stores, closing)
        identifiers = data.shuffled
        spare = data.spare.map(PlainEntry.init)
    }

    func read(_ index: Int, user: Int, thread: Int) throws -> UInt64 {
        try stores[user].model(PlainEntry.self, id: identifiers[index % identifiers.count])?.checksum ?? 0
    }

    func commit(_ number: Int, user: Int, thread: Int) throws {
        try stores[user].write(author: "bench") { try $0.insert(spare[number]) }
    }

    func close() { closing() }
}
