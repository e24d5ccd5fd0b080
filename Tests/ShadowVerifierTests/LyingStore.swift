import Foundation
@_spi(Engines) import HabitStore

/// A store that answers like another one, except where a test changes the answer.
final class LyingStore: MaintainableStore {
    let truth: InMemoryHabitStore
    /// Additional findings of the check.
    let findings: [StoreFinding]
    /// The answer to a query; nil for the true one.
    let answer: @Sendable (RecordQuery) throws -> [Record]?

    init(
        _ truth: InMemoryHabitStore,
        findings: [StoreFinding] = [],
        answer: @escaping @Sendable (RecordQuery) throws -> [Record]? = { _ in nil }
    ) {
        self.truth = truth
        self.findings = findings
        self.answer = answer
    }

    var schema: Schema { truth.schema }
    var dispatcher: StoreDispatcher { truth.dispatcher }
    var path: String? { truth.path }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try truth.read { try body(LyingTransaction($0, answer)) }
    }

    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try truth.write(author: author, body)
    }

    func check(progress: (Int) throws -> Void) throws -> [StoreFinding] {
        try truth.check(progress: progress) + findings
    }

    func backup(to path: String) throws { try truth.backup(to: path) }

    func close() { truth.close() }
}

/// A read transaction of a ``LyingStore``.
private final class LyingTransaction: ReadTransaction {
    private let truth: any ReadTransaction
    private let answer: (RecordQuery) throws -> [Record]?

    init(_ truth: any ReadTransaction, _ answer: @escaping (RecordQuery) throws -> [Record]?) {
        self.truth = truth
        self.answer = answer
    }

    var schema: Schema { truth.schema }
    var statistics: FetchStatistics { truth.statistics }

    func currentToken() throws -> HistoryToken { try truth.currentToken() }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try truth.withRow(entity: entity, id: id, body)
    }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try truth.prepare(descriptor)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        guard let records = try answer(RecordQuery(fetch, schema)) else { return try truth.enumerateRows(fetch, body) }
        let layout = schema.entities[fetch.query.entity].layout
        for record in records {
            guard try AttributeReader.withReader(of: SpokenRow(record.values), layout: layout, body) else { break }
        }
        return FetchStatistics()
    }

    func count(_ fetch: PreparedFetch) throws -> Int { try truth.count(fetch) }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try truth.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try truth.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try truth.enumerateHistory(after: token, body)
    }

    func information() throws -> StoreInformation { try truth.information() }
}

/// A row with values that no store would accept, including repeated links.
private final class SpokenRow: AttributeColumns {
    private let values: [Value]

    init(_ values: [Value]) { self.values = values }

    override func isNull(_ position: Int) throws -> Bool { values[position].isNull }
    override func bool(_ position: Int) throws -> Bool { try get(position) }
    override func int(_ position: Int) throws -> Int64 { Int64(try get(position) as Int) }
    override func double(_ position: Int) throws -> Double { try get(position) }
    override func text(_ position: Int) throws -> String { try get(position) }
    override func uuid(_ position: Int) throws -> UUID { try get(position) }
    override func data(_ position: Int) throws -> Data { try get(position) }
    override func texts(_ position: Int) throws -> [String] { try get(position) }
    override func links(_ position: Int) throws -> [UUID] { Array(try get(position) as Set<UUID>) }
    override func value(_ position: Int) throws -> Value { values[position] }
    override func encoded() throws -> EncodedRecord {
        throw HabitStoreError(.unsupported, "what is only said has no bytes")
    }

    private func get<T: AttributeConvertible>(_ position: Int) throws -> T {
        guard let value = T(attributeValue: values[position]) else {
            throw HabitStoreError(.corrupt, "a value of another kind")
        }
        return value
    }
}

extension RecordQuery {
    /// The query from which a fetch was made.
    fileprivate init(_ fetch: PreparedFetch, _ schema: Schema) {
        let entity = schema.entities[fetch.query.entity]
        self.init(
            entity: entity.name,
            filter: fetch.filter,
            sort: fetch.query.order.filter { $0.position > 0 }.map {
                SortKey(entity.attributes[$0.position].name, ascending: $0.ascending)
            },
            limit: fetch.query.limit,
            offset: fetch.query.offset
        )
    }
}
