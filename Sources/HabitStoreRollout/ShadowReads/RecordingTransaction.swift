import Foundation
import HabitStore

/// A read transaction that answers as another one does, and notes what it was asked and what it answered.
final class RecordingTransaction: ReadTransaction {
    private let base: any ReadTransaction
    private(set) var reads: [RecordedRead] = []
    /// Questions that cannot be put to another store.
    private(set) var unrepeatable = 0

    init(_ base: any ReadTransaction) { self.base = base }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }

    func information() throws -> StoreInformation { try base.information() }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        var fetch = try base.prepare(descriptor)
        fetch.remake = { try $0.prepare(descriptor) }
        return fetch
    }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        var digest = ReadDigest()
        let isThere = try base.withRow(entity: entity, id: id) { row in
            digest.add(try row.encoded())
            try body(&row)
        }
        reads.append(RecordedRead(question: .record(entity: entity, id: id), answer: digest))
        return isThere
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        guard let remake = remake(fetch) else { return try base.enumerateRows(fetch, body) }
        var digest = ReadDigest()
        var isCut = false
        let statistics = try base.enumerateRows(fetch.wholeRecords) { row in
            digest.add(try row.encoded())
            let goesOn = try body(&row)
            isCut = !goesOn
            return goesOn
        }
        reads.append(RecordedRead(question: .rows(remake, count: digest.rows, isCut: isCut), answer: digest))
        return statistics
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        let count = try base.count(fetch)
        guard let remake = remake(fetch) else { return count }
        var digest = ReadDigest()
        digest.add(count)
        reads.append(RecordedRead(question: .count(remake), answer: digest))
        return count
    }

    /// How the fetch is made ready for another store; nil, and counted, where only this transaction can answer it.
    private func remake(_ fetch: PreparedFetch) -> (@Sendable (any ReadTransaction) throws -> PreparedFetch)? {
        if let remake = fetch.remake { return remake }
        unrepeatable += 1
        return nil
    }
}
