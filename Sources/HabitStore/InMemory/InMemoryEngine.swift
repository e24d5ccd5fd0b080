import Foundation
import Synchronization

/// The engine of ``InMemoryHabitStore``: dictionaries, copied on write.
public final class InMemoryEngine: StorageEngine {
    /// Everything the store holds at one moment.
    struct State: Sendable {
        var entities: [EntityTable]
        var metadata: [String: String] = [:]
        var history: [HistoryTransaction] = []
        /// The kept digests of each entity, ascending.
        var digests: [[DigestLeaf]]
    }

    /// There is no file.
    public var path: String? { nil }

    private let schema: Schema
    private let state: Mutex<State?>
    private let writing = WriterLock()

    init(schema: Schema) {
        self.schema = schema
        let entities = schema.entities.map { _ in EntityTable() }
        state = Mutex(State(entities: entities, digests: entities.map { _ in [] }))
    }

    /// Makes an engine that holds what was read somewhere else, where it was checked.
    package init(schema: Schema, contents: InMemoryContents) {
        self.schema = schema
        let entities = contents.records.map(EntityTable.init(records:))
        state = Mutex(
            State(
                entities: entities,
                metadata: contents.metadata,
                history: contents.history,
                digests: contents.digests
            )
        )
    }

    private func current() throws -> State {
        guard let state = state.withLock({ $0 }) else {
            throw HabitStoreError(.closed, "the store was closed; open it again")
        }
        return state
    }

    /// Runs `body` over one moment.
    public func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R {
        let transaction = InMemoryTransaction(try current(), schema)
        defer { transaction.end() }
        return try body(transaction)
    }

    /// Runs `body` in the write transaction.
    public func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R {
        try writing.hold {
            let transaction = InMemoryTransaction(try current(), schema)
            defer { transaction.end() }
            let result = try body(transaction)
            try state.withLock { state in
                guard state != nil else { throw HabitStoreError(.closed, "the store was closed; open it again") }
                state = try transaction.state
            }
            return result
        }
    }

    /// There is no file whose structure could be damaged, and there are no indexes.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] { [] }

    /// Not possible: there is no file format.
    public func backup(to path: String) throws {
        throw HabitStoreError(.unsupported, "a store in memory has no file; copy it into a store that has one")
    }

    /// Forgets everything.
    public func close() { state.withLock { $0 = nil } }
}

/// The records of one entity; the order by identifier is made when it is asked for, and shared by later readers.
struct EntityTable: Sendable {
    private(set) var records: [UUID: EncodedRecord]
    private var order = SortedIdentifiers()

    init(records: [UUID: EncodedRecord] = [:]) { self.records = records }

    subscript(id: UUID) -> EncodedRecord? {
        get { records[id] }
        set {
            if (records[id] == nil) != (newValue == nil) { order = SortedIdentifiers() }
            records[id] = newValue
        }
    }

    var identifiers: [UUID] { order.get { records.keys.sorted { $0.isBefore($1) } } }
}

/// Sorted once, by whoever asks first.
private final class SortedIdentifiers: Sendable {
    private let sorted = Mutex<[UUID]?>(nil)

    func get(_ sort: () -> [UUID]) -> [UUID] {
        sorted.withLock { sorted in
            let result = sorted ?? sort()
            sorted = result
            return result
        }
    }
}
