import Foundation
import HabitStore

extension PlantedFault {
    /// Changes a history transaction; nil removes it.
    private typealias Edit = @Sendable (HistoryTransaction) throws -> HistoryTransaction?

    /// The transactions of ``PlantedContents/write(to:)``: 1 import, 2–6 entries, 7 drafts, 8 updates, 9 deletions, 10 a draft.
    private static let (entries, updates, deletions, last) = (
        HistoryToken(rawValue: 4), HistoryToken(rawValue: 8), HistoryToken(rawValue: 9), HistoryToken(rawValue: 10)
    )

    private static func history(_ name: String, _ token: HistoryToken, _ trace: Trace, _ edit: @escaping Edit)
        -> [PlantedFault]
    {
        inEach(name, [trace]) { planter, _ in try replace(token, in: planter, edit) }
    }

    private static func replace(_ token: HistoryToken, in planter: any FaultPlanter, _ edit: Edit) throws {
        guard let transaction = try planter.history().first(where: { $0.token == token }) else {
            throw HabitStoreError(.notFound, "the history has no transaction \(token)")
        }
        try planter.replaceHistory(token, with: try edit(transaction))
    }

    /// A history that contradicts what happened, while the records are right.
    static func histories(_ contents: PlantedContents) -> [PlantedFault] {
        let named = Trace(level: "history", token: entries)
        func change(_ entity: String, _ id: UUID, _ token: HistoryToken) -> Trace {
            Trace(level: "history", entity: entity, id: id, token: token)
        }
        let (habit, entry) = (contents.habits[8], contents.deletedEntry)
        return history("a lost transaction", entries, named) { _ in nil }
            + history("a lost change", entries, named) { $0.with(changes: $0.changes.dropLast()) }
            + history("an added change", entries, named) { transaction in
                let insert = HistoryChange(entity: "Draft", id: SampleRecords.id(31), kind: .insert)
                return transaction.with(changes: transaction.changes + [insert])
            }
            + history("another list of updated attributes", updates, change("Habit", habit.id, updates)) {
                transaction in
                transaction.with(
                    changes: transaction.changes.map { change in
                        guard change.id == habit.id else { return change }
                        return HistoryChange(
                            entity: change.entity,
                            id: change.id,
                            kind: .update(updatedAttributes: ["streak"])
                        )
                    }
                )
            }
            + history("an insertion instead of an update", updates, change("Habit", habit.id, updates)) {
                transaction in
                transaction.with(
                    changes: transaction.changes.map { change in
                        change.id == habit.id
                            ? HistoryChange(entity: change.entity, id: change.id, kind: .insert) : change
                    }
                )
            }
            + history("a change of another record", updates, Trace(level: "history", token: updates)) { transaction in
                transaction.with(
                    changes: transaction.changes.map { change in
                        guard change.id == habit.id else { return change }
                        return HistoryChange(entity: change.entity, id: SampleRecords.id(11), kind: change.kind)
                    }
                )
            }
            + history("changes in another order", updates, Trace(level: "history", token: updates)) {
                $0.with(changes: $0.changes.reversed())
            }
            + history("another author", entries, named) { $0.with(author: "sync") }
            + history("no author", entries, named) { $0.with(author: nil) }
            + history("a time off by one ulp", entries, named) { transaction in
                let seconds = transaction.timestamp.timeIntervalSinceReferenceDate.nextUp
                return transaction.with(timestamp: Date(timeIntervalSinceReferenceDate: seconds))
            }
            + history("another value in a tombstone", deletions, change("Entry", entry.id, deletions)) { transaction in
                transaction.with(changes: transaction.changes.map { $0.id == entry.id ? $0.withLaterTombstone : $0 })
            }
            + tokens()
    }

    /// Tokens that do not match.
    private static func tokens() -> [PlantedFault] {
        let skew =
            history("the last transaction lost", last, Trace(level: "tokens")) { _ in nil }
            + history("a skipped token", last, Trace(level: "tokens")) { $0.skippingToken }
            + inEach("a wrong last token in the bookkeeping", [Trace(level: "tokens")]) { planter, _ in
                try planter.setBookkeeping("lastToken", "12")
            }
        return skew.map { $0.expecting(.skew) } + unfittingTokens().map { $0.expecting(.refusal) }
    }

    /// The same on a server, where the store's row is left unchanged.
    private static func unfittingTokens() -> [PlantedFault] {
        only([.postgres], "the last transaction lost, with the store's row unchanged", []) { planter, _ in
            guard let planter = (planter as? PostgresPlanter)?.leavingStoreRow else { return }
            try replace(last, in: planter) { _ in nil }
        }
            + only([.postgres], "a skipped token, with the store's row unchanged", []) { planter, _ in
                guard let planter = (planter as? PostgresPlanter)?.leavingStoreRow else { return }
                try replace(last, in: planter) { $0.skippingToken }
            }
            + only([.postgres], "a wrong last token in the bookkeeping, with the store's row unchanged", []) {
                planter,
                _ in
                try (planter as? PostgresPlanter)?.leavingStoreRow.setBookkeeping("lastToken", "12")
            }
    }
}

extension HistoryTransaction {
    /// The same transaction after a skipped token.
    fileprivate var skippingToken: HistoryTransaction {
        HistoryTransaction(
            token: HistoryToken(rawValue: token.rawValue + 1),
            timestamp: timestamp,
            author: author,
            changes: changes
        )
    }

    fileprivate func with(changes: some Sequence<HistoryChange>) -> HistoryTransaction {
        HistoryTransaction(token: token, timestamp: timestamp, author: author, changes: Array(changes))
    }

    fileprivate func with(author: String?) -> HistoryTransaction {
        HistoryTransaction(token: token, timestamp: timestamp, author: author, changes: changes)
    }

    fileprivate func with(timestamp: Date) -> HistoryTransaction {
        HistoryTransaction(token: token, timestamp: timestamp, author: author, changes: changes)
    }
}

extension HistoryChange {
    /// A deletion whose tombstone has a date one second later.
    fileprivate var withLaterTombstone: HistoryChange {
        guard case .delete(var tombstone) = kind, case .date(let date)? = tombstone["date"] else { return self }
        tombstone["date"] = .date(date.addingTimeInterval(1))
        return HistoryChange(entity: entity, id: id, kind: .delete(tombstone: tombstone))
    }
}
