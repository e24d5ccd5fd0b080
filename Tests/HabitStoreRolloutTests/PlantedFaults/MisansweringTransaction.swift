import Foundation

@_spi(Engines) @testable import HabitStore

/// A read transaction of a ``MisansweringStore``.
final class MisansweringTransaction: ReadTransaction {
    private let base: any ReadTransaction
    private let misanswer: Misanswer

    init(_ base: any ReadTransaction, _ misanswer: Misanswer) {
        self.base = base
        self.misanswer = misanswer
    }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }

    func information() throws -> StoreInformation { try base.information() }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        if misanswer == .lostByIdentifier, schema.entities[entity].name == "Entry" { return false }
        return try base.withRow(entity: entity, id: id, body)
    }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try base.prepare(descriptor)
    }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        guard misanswer.strikes(fetch, schema) else { return try base.enumerateRows(fetch, body) }
        var asked = fetch
        asked.query.projection = nil
        if misanswer == .shiftedPage { asked.query.offset += 1 }
        var rows: [EncodedRecord] = []
        let statistics = try base.enumerateRows(asked) { row in
            rows.append(try row.encoded())
            return true
        }
        let layout = schema.entities[fetch.query.entity].layout
        for row in try misanswer.change(rows, fetch, layout) {
            let goesOn = try row.bytes.withUnsafeBytes { bytes in
                var reader = AttributeReader(bytes, layout: layout)
                return try body(&reader)
            }
            if !goesOn { break }
        }
        return statistics
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        let count = try base.count(fetch)
        guard misanswer.strikes(fetch, schema) else { return count }
        if misanswer == .failure { throw HabitStoreError(.evaluationFailed, "this engine cannot do that") }
        return misanswer == .miscount ? count + 1 : count
    }
}
