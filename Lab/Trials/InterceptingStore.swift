import Foundation
@_spi(Engines) import HabitStore

/// A store that passes every call on to another one. A store for a test implements only the calls that it answers itself.
package protocol InterceptingStore: MaintainableStore, ReplicableStore {
    /// The store that answers all other calls.
    var base: any UserStoreBackend { get }
}

extension InterceptingStore {
    package var schema: Schema { base.schema }
    package var dispatcher: StoreDispatcher { base.dispatcher }
    package var path: String? { base.path }

    package func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R { try base.read(body) }

    package func read<R>(
        while condition: ReadCondition,
        _ body: (any ReadTransaction) throws -> R
    ) throws -> R {
        try base.read(while: condition, body)
    }

    package func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author, body)
    }

    package func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try base.write(author: author, under: terms, body)
    }

    package func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R { try base.replicaRead(body) }

    package func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R { try base.replicate(body) }

    package func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    package func rebuildDigests() throws { try base.rebuildDigests() }

    package func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    package func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    package func backup(to path: String) throws { try base.backup(to: path) }

    package func close() { base.close() }
}

/// A read transaction that passes every call on to another one, for an ``InterceptingStore``.
package protocol InterceptingTransaction: ReadTransaction {
    /// The transaction that answers all other calls.
    var base: any ReadTransaction { get }
}

extension InterceptingTransaction {
    package var schema: Schema { base.schema }
    package var statistics: FetchStatistics { base.statistics }

    package func currentToken() throws -> HistoryToken { try base.currentToken() }

    package func information() throws -> StoreInformation { try base.information() }

    package func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try base.prepare(descriptor)
    }

    package func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    package func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }

    package func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    package func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try base.withRow(entity: entity, id: id, body)
    }

    package func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try base.enumerateRows(fetch, body)
    }

    package func count(_ fetch: PreparedFetch) throws -> Int { try base.count(fetch) }

    /// Hands changed rows of a fetch to `body`: all of them are read first, as whole records.
    package func enumerateRows(
        _ fetch: PreparedFetch,
        changedBy change: ([EncodedRecord]) throws -> [EncodedRecord],
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        var whole = fetch
        whole.query.projection = nil
        var rows: [EncodedRecord] = []
        let statistics = try base.enumerateRows(whole) { row in
            rows.append(try row.encoded())
            return true
        }
        let layout = schema.entities[fetch.query.entity].layout
        for row in try change(rows) {
            let goesOn = try row.bytes.withUnsafeBytes { bytes in
                var reader = AttributeReader(bytes, layout: layout)
                return try body(&reader)
            }
            guard goesOn else { break }
        }
        return statistics
    }
}
