import Foundation

/// The locks between processes that `flock` gives. The system gives them back when their process dies. They belong to the open
/// file: two descriptors of one process keep each other out as well.
package enum AdvisoryLock: Sendable {
    /// Beside others of this kind.
    case shared
    /// Alone.
    case exclusive

    /// How long is slept between two attempts: there is no `flock` with a time limit, and no signal to spend on one in a library.
    package struct Pauses: Sendable {
        let first: UInt32
        let longest: UInt32

        /// - Parameter microseconds: at first, and at most; each pause is twice as long as the one before.
        package init(microseconds: ClosedRange<UInt32>) {
            first = microseconds.lowerBound
            longest = microseconds.upperBound
        }

        /// For what is seldom locked, and not for short.
        package static let long = Pauses(microseconds: 1_000...50_000)
    }

    /// Takes the lock of an open file if nobody is in the way.
    package func tryTake(_ descriptor: Int32, path: String) throws(FileFailure) -> Bool {
        while flock(descriptor, (self == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            let failure = FileFailure(.lock, path)
            if failure.number == EINTR { continue }
            if failure.isBusy { return false }
            throw failure
        }
        return true
    }

    /// Takes the lock of an open file, and waits for it.
    ///
    /// - Throws: a ``FileFailure`` that is busy when others keep it for longer than `timeoutSeconds`.
    package func take(_ descriptor: Int32, path: String, timeoutSeconds: Double) throws(FileFailure) {
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        let isTaken = try Self.wait(
            .long,
            while: { ContinuousClock.now < deadline },
            for: { () throws(FileFailure) in try tryTake(descriptor, path: path) }
        )
        guard isTaken else { throw FileFailure(.lock, path, EWOULDBLOCK) }
    }

    /// Gives the lock of an open file back.
    package static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

    /// Tries again and again while there is time.
    ///
    /// - Returns: whether an attempt has succeeded.
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
