import Foundation
@_spi(Engines) import HabitStore

extension ShadowReader {
    /// The most rows of each store to search for those that differ.
    private static let maximumRows = 10_000

    /// Records that differ between two stores, if the caller's store is still at the token; empty if they cannot be found.
    func records(
        _ question: RecordedRead.Question,
        at token: HistoryToken,
        _ theirs: any ReadTransaction
    ) -> [UUID] {
        watch.begin(0)
        defer { _ = watch.end() }
        // A failure here does not change the verdict.
        let found = try? mine().read { transaction in
            try transaction.currentToken() == token ? try differing(question, transaction, theirs) : []
        }
        return found ?? []
    }

    /// Records that differ between two snapshots; empty if they cannot be found.
    func records(
        _ question: RecordedRead.Question,
        _ mine: any ReadTransaction,
        _ theirs: any ReadTransaction
    ) -> [UUID] {
        watch.begin(0)
        defer { _ = watch.end() }
        return (try? differing(question, mine, theirs)) ?? []
    }

    private struct Row: Hashable {
        let id: UUID
        let high: UInt64
        let low: UInt64
    }

    private func differing(
        _ question: RecordedRead.Question,
        _ mine: any ReadTransaction,
        _ theirs: any ReadTransaction
    ) throws -> [UUID] {
        let (left, right) = (try rows(question, mine), try rows(question, theirs))
        let sides = (Set(left), Set(right))
        var found = left.filter { !sides.1.contains($0) } + right.filter { !sides.0.contains($0) }
        if found.isEmpty { found = zip(left, right).filter { $0 != $1 }.map(\.0) }
        var named: [UUID] = []
        for row in found where !named.contains(row.id) && named.count < ShadowDifference.namedRecords {
            named.append(row.id)
        }
        return named
    }

    private func rows(_ question: RecordedRead.Question, _ transaction: any ReadTransaction) throws -> [Row] {
        var rows: [Row] = []
        func take(_ row: borrowing AttributeReader, _ projection: [Int]?) throws {
            if watch.isLate { throw TimedOut() }
            let hash = try RowDigest.hash(row, projection)
            rows.append(Row(id: try row.identifier(), high: hash.high, low: hash.low))
        }
        switch question {
        case .rows(let request, let limit):
            let most = min(limit ?? Self.maximumRows, Self.maximumRows)
            try transaction.enumerateRows(try request.fetch(in: transaction)) { row in
                try take(row, request.query.projection)
                return rows.count < most
            }
        case .count(let request):
            try transaction.enumerateRows(try request.fetch(in: transaction)) { row in
                try take(row, [0])
                return rows.count < Self.maximumRows
            }
        case .record(let entity, let id):
            if try !transaction.withRow(entity: entity, id: id, { try take($0, nil) }) {
                rows.append(Row(id: id, high: 0, low: 0))
            }
        case .preparation: break
        }
        return rows
    }
}
