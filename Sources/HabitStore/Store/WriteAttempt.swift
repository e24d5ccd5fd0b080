import Synchronization

/// One async write: whether its closure has begun.
package final class WriteAttempt: Sendable {
    private let begun = Atomic<Bool>(false)
    private let line: WriteLine

    init(_ line: WriteLine) { self.line = line }

    /// Whether the closure has begun: it must not run again.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Wraps the transaction's closure: a task that was cancelled while its write waited for the transaction does nothing.
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
