import Foundation

/// An engine's cursor as a transaction hands it out: it ends with the transaction, and stays on its thread.
final class TransactionCursor<Snapshot: EngineSnapshot>: AuditCursor {
    /// The position of the engine's cursor, shared with the transaction: a cursor that outlives the transaction, or is released on
    /// another thread, does not touch the engine.
    final class Place {
        /// The engine's cursor; nil once the transaction has ended.
        var base: (any AuditCursor)?

        init(_ base: any AuditCursor) { self.base = base }
    }

    private let place: Place
    private let transaction: EngineReadTransaction<Snapshot>

    init(_ place: Place, of transaction: EngineReadTransaction<Snapshot>) {
        (self.place, self.transaction) = (place, transaction)
    }

    deinit {
        if transaction.thread.isCurrent { transaction.close(place) }
    }

    func next() throws -> Bool { try current().next() }

    var identifier: UUID { required.identifier }

    var canonical: UnsafeRawBufferPointer { required.canonical }

    private func current() throws -> any AuditCursor {
        try transaction.requireOpen()
        guard let base = place.base else { throw transaction.thread.refusal }
        return base
    }

    private var required: any AuditCursor {
        guard transaction.thread.isCurrent, let base = place.base else {
            fatalError("a transaction's cursor was read outside of its closure, or on another thread")
        }
        return base
    }
}
