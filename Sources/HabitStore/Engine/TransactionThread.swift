import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The thread that a transaction belongs to, from its beginning to its end.
///
/// Objects from a transaction can escape: from its closure, into a task, to another thread. Each of them checks this first, so that
/// none uses a connection that another caller may have by then. One atomic number is enough: only the transaction's own thread can
/// find its own id there.
package struct TransactionThread: ~Copyable, Sendable {
    /// The thread; 0 once the transaction has ended.
    @usableFromInline let owner: Atomic<UInt>

    /// The transaction begins on the calling thread.
    @inlinable
    package init() { owner = Atomic(Self.current) }

    /// Whether the calling thread may use the transaction.
    @inlinable
    @inline(__always)
    package var isCurrent: Bool { owner.load(ordering: .relaxed) == Self.current }

    /// The transaction ends; nothing of it can be used any more.
    @inlinable
    package func end() { owner.store(0, ordering: .releasing) }

    /// Whether the transaction has ended. What its thread counted until then can be read by any thread.
    @inlinable
    package var hasEnded: Bool { owner.load(ordering: .acquiring) == 0 }

    /// - Throws: ``HabitStoreError/Code/transactionEnded`` when the transaction has ended, or belongs to another thread.
    @inlinable
    @inline(__always)
    package func require() throws {
        guard isCurrent else { throw refusal }
    }

    /// Why the calling thread may not use the transaction.
    @usableFromInline
    @inline(never)
    package var refusal: HabitStoreError {
        guard owner.load(ordering: .relaxed) != 0 else {
            return HabitStoreError(
                .transactionEnded,
                "a transaction was used after its closure had ended; use it inside of the closure only"
            )
        }
        return HabitStoreError(
            .transactionEnded,
            "a transaction was used on another thread; use it on the thread that runs its closure only"
        )
    }

    /// A number that names the calling thread while it lives; never 0.
    @inlinable
    @inline(__always)
    static var current: UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        return UInt(bitPattern: pthread_self())
        #endif
    }
}
