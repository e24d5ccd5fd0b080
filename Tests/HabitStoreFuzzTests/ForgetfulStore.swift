import Foundation
@_spi(Engines) import HabitStore

/// A store that leaves rows out of its answers when a test wants that.
final class ForgetfulStore: EngineBackedStore {
    /// Whether to leave a row out of a fetch.
    typealias Omission = @Sendable (PreparedFetch, borrowing AttributeReader) throws -> Bool

    let core: EngineStore<InMemoryEngine>
    private let omits: Omission

    init(_ truth: InMemoryHabitStore, _ omits: @escaping Omission) {
        core = truth.core
        self.omits = omits
    }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try core.read { try body(ForgetfulTransaction($0, omits)) }
    }
}

/// A read transaction of a ``ForgetfulStore``.
private final class ForgetfulTransaction: ReadTransaction {
    private let truth: any ReadTransaction
    private let omits: ForgetfulStore.Omission

    init(_ truth: any ReadTransaction, _ omits: @escaping ForgetfulStore.Omission) {
        self.truth = truth
        self.omits = omits
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
        try truth.enumerateRows(fetch) { row in try omits(fetch, row) ? true : body(&row) }
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        var count = 0
        _ = try enumerateRows(fetch) { _ in
            count += 1
            return true
        }
        return count
    }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try truth.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try truth.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try truth.enumerateHistory(after: token, body)
    }

    func information() throws -> StoreInformation { try truth.information() }
}
