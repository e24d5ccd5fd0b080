import Foundation
import HabitStore

/// The other events that a running command waits for: a new day, a reader that went away, a signal.
package enum FollowedOutput {
    /// How often to check the clock and the reader.
    private static let lookSeconds = 0.25

    /// Runs `body` for the store's current state, and again after every commit and at the beginning of every day.
    ///
    /// - Parameters:
    ///   - calendar: the calendar that defines days; nil if the output does not depend on them.
    ///   - now: returns the current time.
    ///   - isInterruptible: whether `SIGINT`, `SIGTERM` and `SIGHUP` end it with an error, which leaves time to close the store.
    /// - Throws: the store's errors; ``OutputClosed`` if the reader went away; ``Interrupted``.
    package static func moments(
        of store: any HabitStore,
        in calendar: Calendar? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        isInterruptible: Bool = false,
        _ body: () throws -> Void
    ) async throws {
        if isInterruptible { Interrupted.beginNoting() }
        // All events during an answer lead to one more answer.
        let (moments, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self,
            throwing: (any Error).self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let first = calendar?.startOfDay(for: now())
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                do {
                    for try await _ in store.tokens() { continuation.yield() }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            group.addTask {
                var day = first
                do {
                    while true {
                        try await waitForALook()
                        let today = calendar?.startOfDay(for: now())
                        if today != day { continuation.yield() }
                        day = today
                    }
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            for try await _ in moments { try body() }
        }
    }

    /// Runs `body` with each element of a sequence, as long as the output has a reader.
    ///
    /// - Throws: the errors of the sequence and of `body`; ``OutputClosed`` if the reader went away.
    package static func each<S: AsyncSequence & Sendable>(
        of sequence: S,
        _ body: @escaping @Sendable (S.Element) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { for try await element in sequence { try body(element) } }
            group.addTask { while true { try await waitForALook() } }
            try await group.next()
        }
    }

    private static func waitForALook() async throws {
        try await Task.sleep(for: .seconds(lookSeconds))
        try Output.requireReader()
        try Interrupted.check()
    }
}
