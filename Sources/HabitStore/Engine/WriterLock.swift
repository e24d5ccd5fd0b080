import Foundation

/// Lets one thread write at a time; a thread that already writes gets an error instead of waiting for itself for ever.
@_spi(Engines) public final class WriterLock: @unchecked Sendable {
    private let lock = NSLock()
    private let guardian = NSLock()
    private var owner: Thread?

    /// Creates an unlocked lock.
    public init() {}

    /// Runs `body` while holding the lock.
    public func hold<R>(_ body: () throws -> R) throws -> R {
        let current = Thread.current
        guard guardian.withLock({ owner !== current }) else {
            throw HabitStoreError.nestedWrite(path: nil)
        }
        lock.lock()
        guardian.withLock { owner = current }
        defer {
            guardian.withLock { owner = nil }
            lock.unlock()
        }
        return try body()
    }
}

extension HabitStoreError {
    /// The error for a write that was begun inside of another one of the same store, which would wait for itself.
    package static func nestedWrite(path: String?) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "a write transaction was begun inside of another one of the same store; use the one that is open",
            at: .init(path: path)
        )
    }

    /// The error for a write that another thread's has kept from beginning for longer than a write waits.
    package static func busyWriter(path: String?) -> HabitStoreError {
        HabitStoreError(
            .busy,
            "another thread holds the write lock of the store longer than the stated wait; try again later",
            at: .init(path: path)
        )
    }
}
