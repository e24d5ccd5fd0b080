import Foundation
import Synchronization

/// Follows answers in a separate task, like a list on the screen, and records when each of them arrived.
final class LiveConsumer: Sendable {
    private struct News {
        /// The progress of the latest answer, and when it arrived.
        var latest: (progress: Int, instant: ContinuousClock.Instant)?
        var failure: (any Error)?
    }

    /// How long an answer may take before the measurement fails.
    private static let patienceSeconds = 60.0

    /// The messages from the task to the waiting thread.
    private final class Mailbox: Sendable {
        private let news = Mutex(News())
        private let isFilled = DispatchSemaphore(value: 0)

        func put(_ change: (inout News) -> Void) {
            news.withLock { change(&$0) }
            isFilled.signal()
        }

        func look() -> News { news.withLock { $0 } }

        func wait() -> Bool { isFilled.wait(timeout: .now() + patienceSeconds) == .success }
    }

    private let mailbox: Mailbox
    private let isOver = DispatchSemaphore(value: 0)
    private let task: Task<Void, Never>

    /// - Parameter progress: a number that rises with the answers.
    init<Answers: AsyncSequence & Sendable>(
        _ answers: Answers,
        progress: @escaping @Sendable (Answers.Element) -> Int
    ) {
        let mailbox = Mailbox()
        self.mailbox = mailbox
        task = Task.detached { [isOver] in
            await Self.follow(answers, mailbox, progress)
            isOver.signal()
        }
    }

    /// The answers are released when it returns.
    private static func follow<Answers: AsyncSequence & Sendable>(
        _ answers: Answers,
        _ mailbox: Mailbox,
        _ progress: @Sendable (Answers.Element) -> Int
    ) async {
        do {
            for try await answer in answers {
                let instant = ContinuousClock.now
                let progress = progress(answer)
                mailbox.put { $0.latest = (progress, instant) }
            }
        } catch {
            mailbox.put { $0.failure = error }
        }
    }

    /// Stops following, and waits for the end.
    func stop() throws {
        task.cancel()
        guard isOver.wait(timeout: .now() + Self.patienceSeconds) == .success else {
            throw BenchError("a live query did not end")
        }
    }

    deinit { task.cancel() }

    /// Waits for an answer with this progress.
    ///
    /// - Returns: when the consumer received it.
    @discardableResult
    func wait(for progress: Int) throws -> ContinuousClock.Instant {
        while true {
            let news = mailbox.look()
            if let failure = news.failure { throw failure }
            if let latest = news.latest, latest.progress >= progress { return latest.instant }
            guard mailbox.wait() else {
                throw BenchError("no answer arrived within \(Int(Self.patienceSeconds)) seconds")
            }
        }
    }
}
