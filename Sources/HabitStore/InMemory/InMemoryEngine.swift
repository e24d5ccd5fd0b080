import Foundation
import Synchronization

/// The engine of ``InMemoryHabitStore``: dictionaries, copied on write.
@_spi(Engines) public final class InMemoryEngine: StorageEngine {
    /// Everything the store holds at one moment.
    struct State: Sendable {
        var entities: [EntityTable]
        var metadata: [String: String] = [:]
        var history: [HistoryTransaction] = []
        /// The kept digests of each entity, ascending.
        var digests: [[DigestLeaf]]
    }

    /// What handles on one store share.
    final class Contents: Sendable {
        let state: Mutex<State>
        let writing = WriterLock()

        init(_ state: State) { self.state = Mutex(state) }

        convenience init(schema: Schema) {
            let entities = schema.entities.map { _ in EntityTable() }
            self.init(State(entities: entities, digests: entities.map { _ in [] }))
        }
    }

    /// There is no file; a store that an ``InMemoryProvider`` keeps has a place.
    public let path: String?

    private let schema: Schema
    private let contents: Mutex<Contents?>
    private let keep: (@Sendable (String, Contents) throws -> Void)?

    /// - Parameter keep: stores a copy where others find it; nil without one.
    init(
        schema: Schema,
        contents: Contents? = nil,
        path: String? = nil,
        keep: (@Sendable (String, Contents) throws -> Void)? = nil
    ) {
        self.schema = schema
        self.path = path
        self.keep = keep
        self.contents = Mutex(contents ?? Contents(schema: schema))
    }

    /// Makes an engine that holds what was read somewhere else, where it was checked.
    package init(schema: Schema, contents: InMemoryContents) {
        self.schema = schema
        path = nil
        keep = nil
        let entities = contents.records.map(EntityTable.init(records:))
        self.contents = Mutex(
            Contents(
                State(
                    entities: entities,
                    metadata: contents.metadata,
                    history: contents.history,
                    digests: contents.digests
                )
            )
        )
    }

    private func open() throws -> Contents {
        guard let contents = contents.withLock({ $0 }) else {
            throw HabitStoreError(.closed, "the store was closed; open it again", at: .init(path: path))
        }
        return contents
    }

    /// Runs `body` over one moment.
    public func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R {
        let transaction = InMemoryTransaction(try open().state.withLock { $0 }, schema)
        defer { transaction.end() }
        return try body(transaction)
    }

    /// Runs `body` in the write transaction.
    public func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R {
        let shared = try open()
        return try shared.writing.hold {
            let transaction = InMemoryTransaction(shared.state.withLock { $0 }, schema)
            defer { transaction.end() }
            let result = try body(transaction)
            _ = try open()
            let state = try transaction.state
            shared.state.withLock { $0 = state }
            return result
        }
    }

    /// There is no file whose structure could be damaged, and there are no indexes.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] { [] }

    /// Puts a copy at another place of the provider that keeps the store.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for a store that no provider keeps: there is no file format.
    public func backup(to path: String) throws {
        guard let keep else {
            throw HabitStoreError(.unsupported, "a store in memory has no file; copy it into a store that has one")
        }
        try keep(path, Contents(try open().state.withLock { $0 }))
    }

    /// Forgets everything, unless a provider keeps it.
    public func close() { contents.withLock { $0 = nil } }
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

/// Sorted once, on first use.
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
