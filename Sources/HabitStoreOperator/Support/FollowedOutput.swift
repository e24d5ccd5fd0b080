import Foundation
import HabitStore

/// What a command waits for that goes on until it is stopped, beside its store: another day, a reader who went away, a signal.
package enum FollowedOutput {
    /// How often the clock and the reader are looked at.
    private static let lookSeconds = 0.25

    /// Runs `body` at once, and then whenever the store has come to another token, or another day has begun.
    ///
    /// - Parameters:
    ///   - calendar: by which days are counted; nil where what is shown does not go by them.
    ///   - now: the present.
    ///   - isInterruptible: whether `SIGINT`, `SIGTERM` and `SIGHUP` end it by an error, so that there is time to close the store.
    /// - Throws: what is wrong with the store; ``OutputClosed`` when the reader went away; ``Interrupted``.
    package static func moments(
        of store: any HabitStore,
        in calendar: Calendar? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        isInterruptible: Bool = false,
        _ body: () throws -> Void
    ) async throws {
        if isInterruptible { Interrupted.beginNoting() }
        // What comes while an answer is being shown is shown by one answer.
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

    /// Runs `body` with each element of a sequence, for as long as somebody reads the output.
    ///
    /// - Throws: what the sequence and `body` throw; ``OutputClosed`` when the reader went away.
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
