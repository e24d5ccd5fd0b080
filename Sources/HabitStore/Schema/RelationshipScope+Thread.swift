#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Which transaction runs on the calling thread.
///
/// It belongs to the thread, not to a task: a transaction's closure runs on one thread from its first line to its last. Tasks and threads that
/// it starts continue after it has ended, and must not see it.
extension RelationshipScope {
    /// Where a thread keeps the address of its resolver.
    private static let slot: pthread_key_t = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key, nil)
        precondition(result == 0, "the system has no more thread-specific keys (\(result))")
        return key
    }()

    /// What relationship properties read from on the calling thread; nil outside of transactions.
    static var current: (any RelationshipResolver)? {
        pthread_getspecific(slot)?.assumingMemoryBound(to: (any RelationshipResolver).self).pointee
    }

    /// Runs `body`, in which relationship properties read from `resolver` on this thread, and afterwards from what they read
    /// from before.
    package static func withResolver<R>(_ resolver: any RelationshipResolver, _ body: () throws -> R) rethrows -> R {
        try withUnsafePointer(to: resolver) { address in
            let outer = pthread_getspecific(slot)
            enter(address)
            defer { enter(outer) }
            return try body()
        }
    }

    private static func enter(_ address: UnsafeRawPointer?) {
        let result = pthread_setspecific(slot, address)
        // A resolver that outlives its transaction, or is not found within it, must not go unnoticed.
        precondition(result == 0, "a thread could not keep its transaction (\(result))")
    }
}
