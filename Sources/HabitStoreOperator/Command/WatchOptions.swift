import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import Synchronization

/// The option `--watch`.
package struct WatchOptions: ParsableArguments {
    @Flag(help: "Show each new answer, until stopped; in JSON one line each.")
    package var watch = false

    package init() {}

    /// How often to check a user's control file.
    private static let pollSeconds = 0.05
    /// How often to read the answer again even if the signs are unchanged, because other programs may write without changing them.
    private static let mostSeconds = 10.0
    /// How long a store may be unreadable for a temporary reason.
    private static let patienceSeconds = 10.0

    /// Prints an answer about a store's records and, with `--watch`, prints it again after every commit that changes it.
    func show(_ store: any HabitStore, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        try await FollowedOutput.moments(of: store) { try shown.show(try body()) }
    }

    /// Prints an answer about a user whom other processes may move: `body` opens the store that is current and closes it.
    func show(_ user: String, of stores: UserStores, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        var last: (signs: UserSigns, at: ContinuousClock.Instant)?
        while true {
            // Signs before the store: the next look notices a change in between.
            let (signs, now) = (try stores.signs(of: user), ContinuousClock.now)
            if last.map({ $0.signs != signs || now - $0.at > .seconds(Self.mostSeconds) }) ?? true {
                try shown.show(shown.isEmpty ? try body() : try await patiently(body))
                last = (signs, now)
            }
            try Output.requireReader()
            // Spend at most half of the time looking.
            try await Task.sleep(for: max(.seconds(Self.pollSeconds), ContinuousClock.now - now))
        }
    }

    /// Retries `body`: while a user is being moved, no store may be known to be current.
    private func patiently(_ body: () throws -> Answer) async throws -> Answer {
        let start = ContinuousClock.now
        while true {
            do {
                return try body()
            } catch let error as HabitStoreError
                where ErrorReport.status(of: error.code) != .usage
                && ContinuousClock.now - start < .seconds(Self.patienceSeconds)
            {
                try await Task.sleep(for: .seconds(Self.pollSeconds))
            }
        }
    }
}

/// Prints successive answers that differ: on a terminal each replaces the one before, elsewhere an empty line separates them, and documents take one
/// line each.
package struct ShownAnswers {
    private var last: [String]?

    package init() {}

    /// Whether no answer was printed yet.
    package var isEmpty: Bool { last == nil }

    /// Prints an answer, unless it equals the last one.
    ///
    /// - Parameters:
    ///   - notes: text for standard error before it.
    ///   - errors: text for standard error after it.
    package mutating func show(_ answer: Answer, notes: String = "", errors: String = "") throws {
        let text = try answer.text(asLine: true)
        guard last != [notes, text, errors] else { return }
        if case .text = answer {
            if Terminal.isTerminal(STDOUT_FILENO) {
                try Output.write(Terminal.home)
            } else if !isEmpty {
                try Output.write("\n")
            }
        }
        last = [notes, text, errors]
        StandardError.write(notes)
        try Output.write(text)
        StandardError.write(errors)
    }
}

/// The other events that a running command waits for: a new day, a reader that went away, a signal.
package enum FollowedOutput {
    /// How often to check the clock and the reader.
    private static let pollSeconds = 0.25

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
        try await Task.sleep(for: .seconds(pollSeconds))
        try Output.requireReader()
        try Interrupted.check()
    }
}

/// A signal asked the command to end; it first closes its store and saves its work.
struct Interrupted: Error {
    private static let received = Atomic<Int32>(0)

    let signal: Int32

    /// Records these signals from now on; a second signal ends the command immediately. A signal that is ignored, as under `nohup`, stays ignored.
    static func beginNoting() {
        // Initialize the variable here, not inside a signal handler.
        received.store(0, ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) {
            _ = Foundation.signal(number) { number in
                _ = Foundation.signal(number, SIG_DFL)
                Interrupted.received.store(number, ordering: .releasing)
            }
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // The handler is the first member, whatever the system calls it, and 1 is `SIG_IGN`.
        return withUnsafeBytes(of: &action) { $0.load(as: UInt.self) } == 1
    }

    /// - Throws: ``Interrupted`` if a signal was recorded.
    static func check() throws {
        let number = received.load(ordering: .acquiring)
        if number != 0 { throw Interrupted(signal: number) }
    }

    /// Has these signals end the command after `cleanUp`, wherever it is. For commands that may be killed at any time.
    static func endCommand(after cleanUp: @escaping @Sendable () -> Void) {
        beginNoting()
        Thread.detachNewThread {
            while true {
                Thread.sleep(forTimeInterval: pollSeconds)
                let number = received.load(ordering: .acquiring)
                guard number != 0 else { continue }
                cleanUp()
                Interrupted(signal: number).end()
            }
        }
    }

    private static let pollSeconds = 0.1

    /// Ends the command as the signal would have done, so that the parent process sees why.
    func end() -> Never {
        _ = Foundation.signal(signal, SIG_DFL)
        // Swift's task threads block signals.
        var these = sigset_t()
        sigemptyset(&these)
        sigaddset(&these, signal)
        pthread_sigmask(SIG_UNBLOCK, &these, nil)
        raise(signal)
        Foundation.exit(128 + signal)
    }
}
