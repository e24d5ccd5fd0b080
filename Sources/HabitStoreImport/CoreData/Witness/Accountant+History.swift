import Foundation
@_spi(Engines) import HabitStore

extension Accountant {
    /// Accounts for every transaction and change of the file's persistent history.
    mutating func accountHistory(_ store: any ReadTransaction) throws {
        let transactions = try columns(of: "ATRANSACTION")
        let author = authorExpression(transactions)
        let found = ledger == nil ? try carried(author, store) : try keptTransactions()
        try name(
            "ATRANSACTION",
            found.transactions,
            found: found.transactionCount,
            [
                "ZTIMESTAMP", "ZAUTHOR", "ZAUTHORTS",
            ]
        )
        let told = ["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
        let tombstones = try columns(of: "ACHANGE").filter { $0.hasPrefix("ZTOMBSTONE") }
        try name("ACHANGE", found.changes, found: found.changeCount, told + tombstones)
        // Changes of unknown kinds are not imported, whatever they contain.
        for column in tombstones { try accountStated("ACHANGE", column, where: "ZCHANGETYPE IN (0, 1)") }
        try accountNames(transactions)
    }

    /// Accounts for the names that no transaction uses; the others are accounted for with their transactions.
    private mutating func accountNames(_ transactions: [String]) throws {
        let table = "ATRANSACTIONSTRING"
        guard file.tables.columns[table] != nil else { return }
        // A null in the list would make `NOT IN` unknown for every row.
        let used = transactions.filter { $0.hasSuffix("TS") }.map {
            "Z_PK NOT IN (SELECT coalesce(t.\(Self.quoted($0)), 'none') FROM ATRANSACTION t)"
        }
        let isUnused = "Z_PK IS NULL OR (\((used + ["1"]).joined(separator: " AND ")))"
        for column in try columns(of: table) where !["Z_PK", "Z_ENT", "Z_OPT"].contains(column) {
            try accountStated(table, column, where: column == "ZNAME" ? isUnused : "1")
        }
    }

    /// The numbers of transactions and changes in the source, and how many of them were found.
    struct HistoryResult {
        var transactions = 0
        var transactionCount = 0
        var changes = 0
        var changeCount = 0
    }

    /// The SQL expression for the author of a transaction `t`, for both layouts.
    private func authorExpression(_ columns: [String]) -> String {
        var parts: [String] = []
        if columns.contains("ZAUTHORTS") {
            parts.append("(SELECT s.ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.ZAUTHORTS)")
        }
        if columns.contains("ZAUTHOR") { parts.append("t.ZAUTHOR") }
        return parts.isEmpty ? "NULL" : parts.count == 1 ? parts[0] : "coalesce(\(parts.joined(separator: ", ")))"
    }

    /// Adds the items of a history table: its rows, and each column not accounted for with the rows.
    private mutating func name(_ table: String, _ rows: Int, found: Int, _ told: [String]) throws {
        var item = CoreDataAccount.Item(table, table == "ATRANSACTION" ? "Z_PK" : "ZENTITYPK", count: rows)
        if ledger == nil { item.carried = found } else { item.kept = found }
        item.place = "the history"
        if item.unaccounted > 0, let left = statement.first(where: { $0.table == table && $0.column == item.column }),
            item.unaccounted <= left.count
        {
            item.named = item.unaccounted
        }
        if rows > 0 { items.append(item) }
        for column in try columns(of: table)
        where !["Z_PK", "Z_ENT", "Z_OPT"].contains(column) && !told.contains(column) {
            let name = Self.quoted(column)
            let values = Int(try file.connection.int("SELECT count(\(name)) FROM \(Self.quoted(table))") ?? 0)
            guard values > 0 else { continue }
            var item = CoreDataAccount.Item(table, column, count: values)
            let isKept = ["ZCONTEXTNAME", "ZPROCESSID", "ZBUNDLEID"].contains { column.hasPrefix($0) }
            if ledger != nil, isKept { item.kept = min(values, found) } else { nameIfStated(&item) }
            items.append(item)
        }
    }

    // MARK: History in the store

    private func carried(_ author: String, _ store: any ReadTransaction) throws -> HistoryResult {
        var result = HistoryResult()
        let rows = try file.connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, \(author) FROM ATRANSACTION t ORDER BY t.Z_PK"
        )
        var source: [(number: Int64, seconds: Double, author: String?)] = []
        var isAtEnd = false
        func fill() throws {
            while source.count < 2, !isAtEnd {
                guard try rows.step() else { return isAtEnd = true }
                source.append((rows.optionalInt(0) ?? 0, rows.optionalDouble(1) ?? 0, rows.text(2)))
                result.transactions += 1
            }
        }
        try fill()
        try store.enumerateHistory(after: .zero) { transaction in
            guard let next = source.first else { return false }
            guard transaction.timestamp.timeIntervalSinceReferenceDate == next.seconds,
                transaction.author == next.author.map(Self.inStoresForm)
            else { return true }
            source.removeFirst()
            result.transactionCount += 1
            result.changeCount += try carriedChanges(of: next.number, transaction, store)
            try fill()
            return true
        }
        while !isAtEnd {
            source.removeAll()
            try fill()
        }
        result.changes = Int(try file.connection.int("SELECT count(*) FROM ACHANGE") ?? 0)
        return result
    }

    private static func inStoresForm(_ text: String) -> String {
        guard case .string(let normal)? = try? Value.string(text).normalized() else { return text }
        return normal
    }

    /// The number of a source transaction's changes that are in one of the store's transactions.
    private func carriedChanges(
        of number: Int64,
        _ transaction: HistoryTransaction,
        _ store: any ReadTransaction
    ) throws -> Int {
        let columns = try self.columns(of: "ACHANGE")
        let kept = columns.filter { $0.hasPrefix("ZTOMBSTONE") }
        let names = (["ZCHANGETYPE", "ZENTITY", "ZENTITYPK"] + kept).map(Self.quoted).joined(separator: ", ")
        let rows = try file.connection.prepare("SELECT \(names) FROM ACHANGE WHERE ZTRANSACTIONID = ?1")
        try rows.bind(number, at: 1)
        var told: [String: HistoryChange] = [:]
        for change in transaction.changes {
            told["\(change.entity.lowercased()) \(try key(of: change, store))"] = change
        }
        var count = 0
        while try rows.step() {
            guard let kind = rows.optionalInt(0), let entity = rows.optionalInt(1), let key = rows.optionalInt(2),
                let root = ancestry(entity).last
            else { continue }
            let name = RecordFinder.entity(root, self).map { schema.entities[$0].name } ?? root
            let ids = ["\(name.lowercased()) \(key)", "\(name.lowercased()) \(derived(root, key))"]
            guard let change = ids.lazy.compactMap({ told[$0] }).first else {
                // A record that no longer exists may have left no trace of its insertion.
                if kind != 2, try isGone(key, root) { count += 1 }
                continue
            }
            if kind == 2, case .delete(let tombstone) = change.kind {
                let isWhole = kept.enumerated().allSatisfy { place, column in
                    let cell = rows.value(3 + place)
                    return cell.isNull || tombstone[column].map { WitnessCell.equals(cell, $0, file) } ?? false
                }
                if isWhole { count += 1 }
            } else {
                count += 1
            }
        }
        return count
    }

    /// The key of the record that a change of the store concerns, or its identifier if the key is unknown.
    private func key(of change: HistoryChange, _ store: any ReadTransaction) throws -> String {
        if case .delete(let tombstone) = change.kind, case .int(let key)? = tombstone["coreDataKey"] { return "\(key)" }
        guard let entity = schema.entities.firstIndex(where: { $0.name == change.entity }),
            let place = schema.entities[entity].position(of: "coreDataKey"),
            let values = try values(change.id, entity, store), case .int(let key) = values[place]
        else { return "\(change.id)" }
        return "\(key)"
    }

    private func isGone(_ key: Int64, _ root: String) throws -> Bool {
        let tables = try file.connection.catalog().tables
        guard let table = tables.first(where: { $0.uppercased() == "Z" + root.uppercased() }) else { return true }
        return try file.connection.int("SELECT 1 FROM \(Self.quoted(table)) WHERE Z_PK = \(key)") == nil
    }

    // MARK: History in the attachment

    private func keptTransactions() throws -> HistoryResult {
        var result = HistoryResult()
        let rows = try file.connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, (SELECT count(*) FROM ACHANGE c WHERE c.ZTRANSACTIONID = t.Z_PK) FROM ATRANSACTION t"
        )
        while try rows.step() {
            guard let number = rows.optionalInt(0) else { continue }
            let changes = Int(rows.optionalInt(2) ?? 0)
            result.transactions += 1
            let isFollowed = try ledger?.followed(number) == true
            let kept = try kept.transaction(number)
            guard isFollowed || kept?.seconds == rows.optionalDouble(1) ?? 0 else { continue }
            result.transactionCount += 1
            result.changeCount += isFollowed ? changes : min(changes, kept?.changes ?? 0)
        }
        result.changes = Int(try file.connection.int("SELECT count(*) FROM ACHANGE") ?? 0)
        return result
    }
}
