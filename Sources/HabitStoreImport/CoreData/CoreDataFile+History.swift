import Foundation
import HabitStore

extension CoreDataFile {
    /// Calls `body` with each history transaction after `number` and its changes, oldest first, until it returns false. A file without a
    /// history has none.
    public func enumerateHistory(
        after number: Int64 = 0,
        _ body: (CoreDataTransaction, [CoreDataChange]) throws -> Bool
    ) throws {
        guard let columns = history?.columns else { return }
        let statement = try connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, \(columns.author), \(columns.context), \(columns.process), \(columns.bundle) "
                + "FROM ATRANSACTION t WHERE t.Z_PK > ?1 ORDER BY t.Z_PK"
        )
        try statement.bind(number, at: 1)
        let kept = columns.tombstones.map { ", \(SourceConnection.quoted($0))" }.joined()
        let changes = try connection.prepare(
            "SELECT Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK\(kept) FROM ACHANGE WHERE ZTRANSACTIONID = ?1 ORDER BY Z_PK"
        )
        while try statement.step() {
            let transaction = CoreDataTransaction(
                number: statement.optionalInt(0) ?? 0,
                timestamp: Date(timeIntervalSinceReferenceDate: statement.optionalDouble(1) ?? 0),
                author: statement.text(2),
                context: statement.text(3),
                process: statement.text(4),
                bundle: statement.text(5)
            )
            guard try body(transaction, read(changes, of: transaction.number, columns)) else { return }
        }
    }

    private func read(
        _ changes: SourceStatement,
        of number: Int64,
        _ columns: CoreDataHistoryColumns
    ) throws -> [CoreDataChange] {
        changes.reset()
        try changes.bind(number, at: 1)
        var result: [CoreDataChange] = []
        while try changes.step() {
            guard let kind = changes.optionalInt(1).flatMap({ CoreDataChange.Kind(rawValue: Int($0)) }),
                let entity = changes.optionalInt(2), let key = changes.optionalInt(3)
            else { continue }
            let tombstone = columns.tombstones.enumerated().compactMap { place, column -> (String, SourceValue)? in
                let value = changes.value(4 + place)
                return value.isNull ? nil : (column, value)
            }
            result.append(
                CoreDataChange(
                    number: changes.optionalInt(0) ?? 0,
                    kind: kind,
                    entity: Int(entity),
                    key: key,
                    tombstone: tombstone
                )
            )
        }
        return result
    }
}
