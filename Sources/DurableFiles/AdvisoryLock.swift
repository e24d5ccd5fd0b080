import Foundation

/// Locks between processes through `flock`. The system releases them when their process dies. They belong to the open file: two
/// descriptors of one process also exclude each other.
package enum AdvisoryLock: Sendable {
    /// Allows other shared locks.
    case shared
    /// Excludes all other locks.
    case exclusive

    /// The pauses between two attempts: `flock` has no time limit, and a library should not use up a signal for one.
    package struct Pauses: Sendable {
        let first: UInt32
        let longest: UInt32

        /// - Parameter microseconds: the first and the longest pause; each is twice as long as the previous one.
        package init(microseconds: ClosedRange<UInt32>) {
            first = microseconds.lowerBound
            longest = microseconds.upperBound
        }

        /// For locks that are rarely contended and held for long.
        package static let long = Pauses(microseconds: 1_000...50_000)
    }

    /// Acquires the lock of an open file if it is free.
    package func tryTake(_ descriptor: Int32, path: String) throws(FileFailure) -> Bool {
        while flock(descriptor, (self == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            let failure = FileFailure(.lock, path)
            if failure.number == EINTR { continue }
            if failure.isBusy { return false }
            throw failure
        }
        return true
    }

    /// Acquires the lock of an open file, and waits for it.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package func take(_ descriptor: Int32, path: String, timeoutSeconds: Double) throws(FileFailure) {
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        let isTaken = try Self.wait(
            .long,
            while: { ContinuousClock.now < deadline },
            for: { () throws(FileFailure) in try tryTake(descriptor, path: path) }
        )
        guard isTaken else { throw FileFailure(.lock, path, EWOULDBLOCK) }
    }

    /// Releases the lock of an open file.
    package static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

    /// Retries until an attempt succeeds or time runs out.
    ///
    /// - Returns: whether an attempt succeeded.
    package static func wait<E: Error>(
        _ pauses: Pauses,
        while hasTime: () -> Bool,
        for attempt: () throws(E) -> Bool
    ) throws(E) -> Bool {
        var pause = pauses.first
        while try !attempt() {
            guard hasTime() else { return false }
            usleep(pause)
            pause = min(pause * 2, pauses.longest)
        }
        return true
    }
}
