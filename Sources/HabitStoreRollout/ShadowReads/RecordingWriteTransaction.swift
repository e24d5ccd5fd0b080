import Foundation
@_spi(Engines) import HabitStore

/// A write transaction that records the shapes of its questions; their answers are not compared.
final class RecordingWriteTransaction: WriteTransaction {
    private let base: any WriteTransaction
    private let reading: RecordingTransaction

    init(_ base: any WriteTransaction, _ recorder: QueryRecorder) {
        self.base = base
        reading = RecordingTransaction(base, nil, recorder)
    }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }

    func information() throws -> StoreInformation { try base.information() }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try reading.prepare(descriptor)
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try reading.withRow(entity: entity, id: id, body)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try reading.enumerateRows(fetch, body)
    }

    func count(_ fetch: PreparedFetch) throws -> Int { try reading.count(fetch) }

    func insert<M: PersistentModel>(_ model: M) throws { try base.insert(model) }

    func insert<M: PersistentModel>(contentsOf models: [M], progress: (Int) throws -> Void) throws {
        try base.insert(contentsOf: models, progress: progress)
    }

    func save<M: PersistentModel>(_ model: M) throws { try base.save(model) }

    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool { try base.delete(type, id: id) }

    func pruneHistory(through token: HistoryToken) throws { try base.pruneHistory(through: token) }
}
