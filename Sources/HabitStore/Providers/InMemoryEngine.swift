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

/// A snapshot of the engine in memory, and its write transaction: a copy of the state that becomes the state.
@_spi(Engines) public final class InMemoryTransaction: EngineWriter {
    /// How a query is gone about: all records of the entity, by identifier.
    public struct Plan: EnginePlan {
        let query: BoundQuery
        /// Nothing is filtered here.
        public var residual: BoundExpression? { query.filter.isAlwaysTrue ? nil : query.filter }
        /// Records come by identifier.
        public var orderIsExact: Bool { query.order.first == .init(position: 0, ascending: true) }
        /// Nothing is cut here.
        public var windowIsApplied: Bool { false }
        /// Always a scan.
        public let accessPath: String
    }

    /// Filters are evaluated as written.
    public static let interpretsFilters = true

    private var contents: InMemoryEngine.State
    let schema: Schema
    private let thread = TransactionThread()

    init(_ state: InMemoryEngine.State, _ schema: Schema) {
        contents = state
        self.schema = schema
    }

    /// Everything the store holds, as this transaction sees it: on its thread, and until it ends.
    var state: InMemoryEngine.State {
        get throws {
            try thread.require()
            return contents
        }
    }

    private func change(_ body: (inout InMemoryEngine.State) -> Void) throws {
        try thread.require()
        body(&contents)
    }

    /// The transaction ends.
    func end() { thread.end() }

    // MARK: Reading

    /// A value of the store's own bookkeeping.
    public func metadata(_ key: String) throws -> String? { try state.metadata[key] }

    /// Lends the record of an identifier.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        guard let record = try state.entities[entity][id] else { return nil }
        return try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            return try body(&reader)
        }
    }

    /// All records of the entity.
    public func plan(_ query: BoundQuery) throws -> Plan {
        Plan(query: query, accessPath: "scan \(schema.entities[query.entity].name)")
    }

    /// Hands out all records of the entity, by identifier.
    @discardableResult
    public func walk(_ plan: Plan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let entity = plan.query.entity
        let layout = schema.entities[entity].layout
        for id in try state.entities[entity].identifiers {
            let goesOn = try state.entities[entity][id]?.withView(layout) { view in
                var reader = view.reader
                return try body(&reader)
            }
            if goesOn == false { break }
        }
        return 0
    }

    /// All records of the entity.
    public func estimatedRows(_ plan: Plan) throws -> Int? { try count(plan) }

    /// The number of records of the entity.
    public func count(_ plan: Plan) throws -> Int { try state.entities[plan.query.entity].records.count }

    /// Looks at every record.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        var found: [UUID] = []
        let layout = schema.entities[entity].layout
        for (id, record) in try state.entities[entity].records {
            let stored = try record.withView(layout) { try $0.value(at: attribute) }
            if case .links(let links) = stored, case .uuid(let target) = value {
                if links.contains(target) { found.append(id) }
            } else if stored == value {
                found.append(id)
            }
        }
        found.sort { $0.isBefore($1) }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    /// The number of the last history transaction.
    public func lastToken() throws -> Int64 { try state.history.last?.token.rawValue ?? 0 }

    /// The history transactions after a number.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        let history = try state.history
        let first = history.partitioningIndex { $0.token.rawValue > token }
        for transaction in history[first...] where try !body(transaction) { return }
    }

    // MARK: Writing

    /// Stores a record under an identifier that has none yet.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        guard try state.entities[entity][id] == nil else { return false }
        try change { $0.entities[entity][id] = record.encoded() }
        return true
    }

    /// Replaces a record.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try change { $0.entities[entity][id] = record.encoded() }
    }

    /// Removes a record.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try change { $0.entities[entity][id] = nil }
    }

    /// Sets a value of the store's own bookkeeping, or removes it.
    public func setMetadata(_ key: String, _ value: String?) throws { try change { $0.metadata[key] = value } }

    /// Appends to the history.
    public func append(_ transaction: HistoryTransaction) throws { try change { $0.history.append(transaction) } }

    /// Forgets the history up to a number.
    public func pruneHistory(through token: Int64) throws {
        try change { $0.history.removeAll { $0.token.rawValue <= token } }
    }
}

@_spi(Engines) extension InMemoryTransaction {
    /// The records of an entity in a range of identifiers.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        InMemoryAuditCursor(try state.entities[entity], schema.entities[entity].layout, range)
    }

    /// The kept digest in whose range an identifier is.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        let leaves = try state.digests[entity]
        let next = leaves.partitioningIndex { id.isBefore($0.first) }
        return next > 0 ? leaves[next - 1] : nil
    }

    /// All kept digests of an entity.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        let leaves = try state.digests[entity]
        return leaves.isEmpty ? nil : leaves
    }

    /// Keeps a digest.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        try change { state in
            let place = state.digests[entity].partitioningIndex { !$0.first.isBefore(leaf.first) }
            if place < state.digests[entity].count, state.digests[entity][place].first == leaf.first {
                state.digests[entity][place] = leaf
            } else {
                state.digests[entity].insert(leaf, at: place)
            }
        }
    }

    /// Forgets all kept digests of an entity.
    public func removeDigestLeaves(entity: Int) throws { try change { $0.digests[entity] = [] } }
}

/// Goes through records in memory. There is no file to decode.
private final class InMemoryAuditCursor: AuditCursor {
    private let table: EntityTable
    private let layout: RecordLayout
    private let form = CanonicalForm()
    private var rest: ArraySlice<UUID>
    private(set) var identifier = IdentifierRange.all.first

    init(_ table: EntityTable, _ layout: RecordLayout, _ range: IdentifierRange) {
        self.table = table
        self.layout = layout
        let identifiers = table.identifiers
        let start = identifiers.partitioningIndex { !$0.isBefore(range.first) }
        let end = identifiers.partitioningIndex { range.last.isBefore($0) }
        rest = identifiers[start..<max(start, end)]
    }

    func next() throws -> Bool {
        guard let id = rest.popFirst(), let record = table[id] else { return false }
        identifier = id
        try record.withView(layout) { try form.write($0, layout) }
        return true
    }

    var canonical: UnsafeRawBufferPointer { form.bytes }
}
