import HabitStore

/// Puts history transactions together from the history's records, which arrive in the order of their keys.
struct LMDBHistoryAssembler {
    /// Whether the changes are left out, for who wants to know the last token only.
    let isOutline: Bool
    let path: String
    private(set) var transactions: [HistoryTransaction] = []
    private var header: LMDBHistoryHeader?
    private var changes: [HistoryChange] = []

    init(path: String, isOutline: Bool) {
        self.path = path
        self.isOutline = isOutline
    }

    /// - Throws: `.corrupt` for a change without its transaction, and for a transaction that lacks one.
    mutating func add(_ record: LMDBRecord) throws {
        let key = try LMDBHistoryKey(record.key, path: path)
        guard key.sequence == 0 else {
            if isOutline { return }
            guard let header, key.token == header.token, key.sequence == UInt64(changes.count) + 1 else {
                throw damaged("has changes without their transaction")
            }
            changes.append(try LMDBHistoryCoder.change(record.value, path: path))
            return
        }
        try finish()
        let (timestamp, author, count) = try LMDBHistoryCoder.header(record.value, path: path)
        header = LMDBHistoryHeader(token: key.token, timestamp: timestamp, author: author, changes: count)
    }

    /// Ends the transaction that is being put together.
    mutating func finish() throws {
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
        LMDBError.error(.corrupt, "the history \(message); run `habitstore check`", path: path)
    }
}
