import Synchronization

/// One async write: whether its task was cancelled, and whether its closure has begun.
package final class WriteAttempt: Sendable {
    private let cancelled = Atomic<Bool>(false)
    private let begun = Atomic<Bool>(false)
    private let willBegin: @Sendable () -> Void

    init(willBegin: @escaping @Sendable () -> Void) { self.willBegin = willBegin }

    /// Whether the closure has begun: it must not run again.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// The task was cancelled.
    func cancel() { cancelled.store(true, ordering: .releasing) }

    /// - Throws: `CancellationError` when the task was cancelled.
    func checkCancellation() throws {
        guard !cancelled.load(ordering: .acquiring) else { throw CancellationError() }
    }

    /// The closure as it is to run inside of the transaction: a task that was cancelled while its write waited for the
    /// transaction to begin does nothing.
    package func guarding<R>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) -> (any WriteTransaction) throws -> R {
        { transaction in
            try self.checkCancellation()
            self.begun.store(true, ordering: .releasing)
            self.willBegin()
            return try body(transaction)
        }
    }
}
