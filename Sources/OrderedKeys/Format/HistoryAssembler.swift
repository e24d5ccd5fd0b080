@_spi(Engines) import HabitStore

/// Assembles history transactions from the history's records, which arrive in key order.
package struct HistoryAssembler {
    /// Whether to leave out the changes, for callers that only need the last token.
    package let isOutline: Bool
    package let path: String
    package private(set) var transactions: [HistoryTransaction] = []
    private var header: HistoryHeader?
    private var changes: [HistoryChange] = []

    package init(path: String, isOutline: Bool) {
        self.path = path
        self.isOutline = isOutline
    }

    /// - Throws: `.corrupt` for a change without its transaction, and for a transaction with a missing change.
    package mutating func add(_ bytes: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        let key = try HistoryKey(bytes, path: path)
        guard key.sequence == 0 else {
            if isOutline { return }
            guard let header, key.token == header.token, key.sequence == UInt64(changes.count) + 1 else {
                throw damaged("has changes without their transaction")
            }
            changes.append(try HistoryCoder.change(value, path: path))
            return
        }
        try finish()
        let (timestamp, author, count) = try HistoryCoder.header(value, path: path)
        header = HistoryHeader(token: key.token, timestamp: timestamp, author: author, changes: count)
    }

    /// Returns the complete transactions, and removes them.
    package mutating func taken() -> [HistoryTransaction] {
        defer { transactions.removeAll() }
        return transactions
    }

    /// Completes the current transaction.
    package mutating func finish() throws {
        guard let header else { return }
        guard isOutline || header.changes == changes.count else {
            throw damaged("lacks a change of transaction \(header.token)")
        }
        if isOutline { transactions.removeAll() }
        transactions.append(
            HistoryTransaction(
                token: HistoryToken(rawValue: header.token),
                timestamp: header.timestamp,
                author: header.author,
                changes: changes
            )
        )
        self.header = nil
        changes.removeAll()
    }

    private func damaged(_ message: String) -> HabitStoreError {
        HabitStoreError.damage("the history \(message); run `\(OperatorCommand.name) check`", at: .init(path: path))
    }
}
