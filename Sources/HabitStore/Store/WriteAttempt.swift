import Synchronization

/// One async write: whether its closure has begun.
package final class WriteAttempt: Sendable {
    private let begun = Atomic<Bool>(false)
    private let line: WriteLine

    init(_ line: WriteLine) { self.line = line }

    /// Whether the closure has begun: it must not run again.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// The closure as it is to run inside of the transaction: a task that was cancelled while its write waited for the
    /// transaction to begin does nothing.
    package func guarding<R>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) -> (any WriteTransaction) throws -> R {
        { transaction in
            try Task.checkCancellation()
            self.begun.store(true, ordering: .releasing)
            self.line.noteBeginning()
            return try body(transaction)
        }
    }
}
