import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Transactions compared at a time: what is held of each are its number and a digest.
    private static var window: Int64 { 100_000 }

    /// Compares the histories of stores with one lineage, from where both have one, and holds the records against them.
    ///
    /// - Returns: the number of transactions compared.
    mutating func compareHistory(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        let (left, right) = (report.a.information, report.b.information)
        var after = max(left.historyFloor, right.historyFloor)
        var compared = 0
        while after < left.token {
            let end = HistoryToken(rawValue: after.rawValue + min(left.token.rawValue - after.rawValue, Self.window))
            let sides = (try digests(transactions.a, after, end), try digests(transactions.b, after, end))
            for token in Set(sides.0.keys).union(sides.1.keys).sorted() where sides.0[token] != sides.1[token] {
                note(try difference(token, sides.0[token] == nil, sides.1[token] == nil))
            }
            compared += max(sides.0.count, sides.1.count)
            after = end
            try tell(progress)
            guard sides.0.isEmpty, sides.1.isEmpty else { continue }
            // The numbers of a damaged store may be far apart, or end long before the last.
            let next = [try firstToken(after, transactions.a), try firstToken(after, transactions.b)].compactMap(\.self)
                .min()
            guard let next else { break }
            after = HistoryToken(rawValue: next.rawValue - 1)
        }
        try replayHistory()
        return compared
    }

    /// The first token of a history after another one.
    private func firstToken(_ after: HistoryToken, _ transaction: any ReadTransaction) throws -> HistoryToken? {
        var found: HistoryToken?
        try transaction.enumerateHistory(after: after) {
            found = $0.token
            return false
        }
        return found
    }

    private func digests(
        _ transaction: any ReadTransaction,
        _ after: HistoryToken,
        _ end: HistoryToken
    ) throws -> [HistoryToken: RecordDigest] {
        let form = CanonicalForm()
        var digests: [HistoryToken: RecordDigest] = [:]
        try transaction.enumerateHistory(after: after) { transaction in
            guard transaction.token <= end else { return false }
            form.write(transaction)
            digests[transaction.token] = RecordDigest(form.bytes)
            return true
        }
        return digests
    }

    private func difference(_ token: HistoryToken, _ lacksA: Bool, _ lacksB: Bool) throws -> StoreDifference {
        if lacksA || lacksB {
            let name = lacksA ? stores.a.name : stores.b.name
            return StoreDifference(.history, "history transaction \(token) is not in \(name)", subject: "\(token)")
        }
        guard let left = try transaction(token, transactions.a),
            let right = try transaction(token, transactions.b)
        else {
            return StoreDifference(.history, "history transaction \(token) cannot be read again", subject: "\(token)")
        }
        guard left.changes.count == right.changes.count else {
            return StoreDifference(
                .history,
                "history transaction \(token) has \(left.changes.count) changes in \(stores.a.name), "
                    + "\(right.changes.count) in \(stores.b.name)",
                subject: "\(token)"
            )
        }
        for (first, second) in zip(left.changes, right.changes) where !first.isIdentical(to: second) {
            return StoreDifference(
                .history,
                "history transaction \(token): what it says of \(first.entity) \(first.id.uuidString) differs",
                entity: first.entity,
                id: first.id,
                subject: "\(token)"
            )
        }
        let part = left.author != right.author ? "author" : "time"
        return StoreDifference(.history, "history transaction \(token): its \(part) differs", subject: "\(token)")
    }

    private func transaction(
        _ token: HistoryToken,
        _ transaction: any ReadTransaction
    ) throws -> HistoryTransaction? {
        var found: HistoryTransaction?
        try transaction.enumerateHistory(after: HistoryToken(rawValue: token.rawValue - 1)) {
            found = $0
            return false
        }
        return found?.token == token ? found : nil
    }
}

extension HistoryChange {
    fileprivate func isIdentical(to other: HistoryChange) -> Bool {
        let forms = (CanonicalForm(), CanonicalForm())
        forms.0.begin()
        forms.0.append(self)
        forms.1.begin()
        forms.1.append(other)
        return forms.0.bytes.elementsEqual(forms.1.bytes)
    }
}

extension CanonicalForm {
    /// Writes a history transaction.
    fileprivate func write(_ transaction: HistoryTransaction) {
        write([
            .int(transaction.token.rawValue), .date(transaction.timestamp),
            transaction.author.map(Value.string) ?? .null, .int(Int64(transaction.changes.count)),
        ])
        for change in transaction.changes { append(change) }
    }

    fileprivate func append(_ change: HistoryChange) {
        append(texts: [change.entity])
        append(uuid: change.id)
        switch change.kind {
        case .insert: append(int: 1)
        case .update(let attributes):
            append(int: 2)
            append(texts: attributes)
        case .delete(let tombstone):
            append(int: 3)
            append(texts: tombstone.keys.sorted())
            append(tombstone.keys.sorted().map { tombstone[$0] ?? .null })
        }
    }
}
