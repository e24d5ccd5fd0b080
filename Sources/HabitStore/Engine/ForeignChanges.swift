import Foundation

/// Changes that another program made to an engine's records, past its transactions: brings history and digests up to date with them.
package final class ForeignChanges<Writer: EngineWriter> {
    private let writer: Writer
    private let schema: Schema
    private let ledger: DigestLedger<Writer>
    private var changes = TransactionChanges()

    /// Begins with no changes.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if the store's records are those of another store, which must not be changed here.
    package init(_ writer: Writer, _ schema: Schema, path: String?) throws {
        let role = try Self.role(writer)
        guard role == .authoritative else {
            throw HabitStoreError(
                .notAuthoritative,
                "another program wrote to this file, which is \(role.rawValue): its records are those of the user's other store",
                at: .init(path: path)
            )
        }
        (self.writer, self.schema) = (writer, schema)
        ledger = DigestLedger(writer, schema)
    }

    /// The store's role. Only an authoritative store has records that other programs may change.
    package static func role(_ writer: Writer) throws -> StoreRole { try StoreBookkeeping.role(writer) }

    /// Notes what became of a record.
    ///
    /// - Parameters:
    ///   - old: the record before the change; nil if there was none.
    ///   - new: the record after the change; nil if it is gone.
    ///   - isTold: whether the history records it; the digests always do.
    package func note(entity: Int, id: UUID, from old: EncodedRecord?, to new: EncodedRecord?, isTold: Bool = true)
        throws
    {
        guard old != new else { return }
        let layout = schema.layouts[entity]
        let key = RecordKey(entity: entity, id: id)
        try ledger.note(entity: entity, id: id, from: old, to: new)
        guard isTold else { return }
        switch (old, new) {
        case (let old?, let new?): new.withView(layout) { changes.noteUpdate(key, $0, old, layout) }
        case (let old?, nil): changes.noteDeletion(key, old)
        case (nil, let new?): new.withView(layout) { changes.noteInsertion(key, $0, layout) }
        case (nil, nil): break
        }
    }

    /// Writes the digests, and one history transaction if there is a net change.
    package func finish(author: String, timestamp: Date) throws {
        try ledger.finish()
        let changes = try changes.history(schema)
        guard !changes.isEmpty else { return }
        try writer.append(
            HistoryTransaction(
                token: try StoreBookkeeping.lastToken(writer).next,
                timestamp: timestamp,
                author: author,
                changes: changes
            )
        )
    }
}
