import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// Sends a run's ledger lines to the hooks and asks them to confirm waves, on a thread for each: moving users never waits for an answer.
final class HookDeliveries: Sendable {
    private struct State {
        var isStopped = false
        var question: HookQuestion?
        /// The hooks that confirmed the wave, and those of them that the run knows about.
        var confirmed: Set<String> = []
        var taken: Set<String> = []
        /// Why hooks have not confirmed yet.
        var refusals: [String: String] = [:]
        var lines: [String] = []
        /// The number of wakes, and how many of them each hook's thread has handled.
        var wakes = 0
        var rounds: [String: Int] = [:]
    }

    private let hooks: [FleetPlan.Hook]
    private let outbox: HookOutbox
    private let retry: HookRetry
    /// Held as long as this object lives.
    private let lease: LockedFile
    private let state = Mutex(State())
    /// One for each hook: a wait by the wall clock would grow if the clock were set back.
    private let bells: [DispatchSemaphore]
    /// How often to check the ledger for lines of other processes.
    private static let lookSeconds = 1.0
    /// The most that the end of a run waits for deliveries.
    private static let lastSeconds = 5.0

    init(
        _ hooks: [FleetPlan.Hook],
        _ outbox: HookOutbox,
        lease: consuming LockedFile,
        retry: HookRetry = HookRetry()
    ) {
        (self.hooks, self.outbox, self.retry) = (hooks, outbox, retry)
        self.lease = lease
        bells = hooks.map { _ in DispatchSemaphore(value: 0) }
    }

    // MARK: Used by the run

    func start() {
        for (hook, bell) in zip(hooks, bells) { Thread.detachNewThread { [self] in work(for: hook, bell) } }
    }

    /// Call this after appending to the ledger.
    func wake() {
        state.withLock { $0.wakes += 1 }
        for bell in bells { bell.signal() }
    }

    /// Asks the hooks that confirm waves.
    func ask(_ wave: Int, users: Int, bytes: Int, moved: Int) {
        let known = confirmed(wave)
        state.withLock { state in
            state.question = HookQuestion(wave: wave, users: users, bytes: bytes, moved: moved, time: Date())
            (state.confirmed, state.taken, state.refusals) = (known, known, [:])
        }
        wake()
    }

    /// The hooks that confirmed a wave, by the ledger.
    private func confirmed(_ wave: Int) -> Set<String> {
        let entries = (try? outbox.ledger.read().entries) ?? []
        return Set(
            entries.compactMap { entry in
                if case .waveConfirmed(wave, let hook) = entry.event { hook } else { nil }
            }
        )
    }

    /// The hooks that have confirmed the wave since the last call.
    func takeConfirmations(of wave: Int) -> [String] {
        state.withLock { state in
            guard state.question?.wave == wave else { return [] }
            let new = state.confirmed.subtracting(state.taken).sorted()
            state.taken = state.confirmed
            return new
        }
    }

    /// The hook that the wave waits for, and why, in the words after "waiting for the hook"; nil if there is none.
    func waiting(for wave: Int) -> String? {
        state.withLock { state in
            let missing = hooks.first { $0.confirmsWaves && !state.confirmed.contains($0.name) }
            guard let missing else { return nil }
            let why = state.refusals[missing.name].map { "; it \($0)" } ?? ""
            return "\(missing.name) to confirm wave \(wave + 1)\(why)"
        }
    }

    /// Takes the messages for the run's output.
    func takeLines() -> [String] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// Tries once more, for a few seconds, to deliver pending lines, and ends the threads.
    func finish() {
        wake()
        let (end, wakes) = (ContinuousClock.now + .seconds(Self.lastSeconds), state.withLock { $0.wakes })
        while ContinuousClock.now < end {
            let isDone = state.withLock { state in hooks.allSatisfy { state.rounds[$0.name] ?? 0 >= wakes } }
            if isDone { break }
            Thread.sleep(forTimeInterval: 0.02)
        }
        state.withLock { $0.isStopped = true }
        wake()
    }

    // MARK: Threads

    /// The failures so far and the time of the next try.
    private struct Trouble {
        var tries = 0
        var next = ContinuousClock.now
        var isSaid = false

        var isDue: Bool { ContinuousClock.now >= next }

        mutating func fail(_ retry: HookRetry) {
            tries += 1
            next = .now + .seconds(retry.wait(after: tries))
        }

        mutating func succeed() { self = Trouble() }
    }

    private func work(for hook: FleetPlan.Hook, _ bell: DispatchSemaphore) {
        var (telling, asking) = (Trouble(), Trouble())
        var (seen, size) = (0, off_t(-1))
        while true {
            let (wakes, question) = state.withLock { ($0.wakes, $0.isStopped ? nil : open($0, hook)) }
            if state.withLock(\.isStopped) { return }
            if let question, asking.isDue { ask(question, hook, &asking) }
            let now = ledgerSize()
            // A new line is tried immediately, whatever failed before: people may be waiting for it.
            if telling.tries > 0 ? telling.isDue || now != size || wakes != seen : now != size {
                tell(hook, &telling)
            }
            (seen, size) = (wakes, now)
            state.withLock { $0.rounds[hook.name] = wakes }
            let next = question == nil ? Self.lookSeconds : (asking.next - ContinuousClock.now) / .seconds(1)
            _ = bell.wait(timeout: .now() + max(0.01, min(Self.lookSeconds, next)))
        }
    }

    private func open(_ state: State, _ hook: FleetPlan.Hook) -> HookQuestion? {
        hook.confirmsWaves && !state.confirmed.contains(hook.name) ? state.question : nil
    }

    private func ledgerSize() -> off_t {
        var status = stat()
        return stat(outbox.ledger.path, &status) == 0 ? status.st_size : -1
    }

    private func tell(_ hook: FleetPlan.Hook, _ trouble: inout Trouble) {
        let (_, failure, problem) = outbox.send(to: hook) { !self.state.withLock(\.isStopped) }
        if let problem, trouble.tries == 0 { say("\(problem)") }
        guard let failure else {
            if trouble.tries > 0 { say("the hook \(hook.name) works again") }
            return trouble.succeed()
        }
        trouble.fail(retry)
        if trouble.tries == 1 { say("the hook \(hook.name) \(failure); it is tried again, and no move waits for it") }
        let since = outbox.places[hook.name]?.failingSince ?? Date()
        guard !trouble.isSaid, Date().timeIntervalSince(since) >= retry.sayAfterSeconds else { return }
        trouble.isSaid = true
        say(
            "the hook \(hook.name) has got nothing since \(since.formatted(.iso8601)): it \(failure); `fleet hooks` shows what it is owed"
        )
    }

    private func ask(_ question: HookQuestion, _ hook: FleetPlan.Hook, _ trouble: inout Trouble) {
        var failure: HookFailure?
        do {
            let drawn = try outbox.ledger.read().heads.first ?? ""
            let message = try HookMessage(question, drawn: drawn, outbox.fleet, to: hook)
            try HookProgram.deliver(message, to: hook)
        } catch let refusal as HookFailure {
            failure = refusal
        } catch {
            failure = HookFailure("cannot be asked: \(error)")
        }
        state.withLock { state in
            guard state.question == question else { return }
            if let failure {
                state.refusals[hook.name] = failure.description
            } else {
                state.confirmed.insert(hook.name)
            }
        }
        failure == nil ? trouble.succeed() : trouble.fail(retry)
    }

    private func say(_ line: String) { state.withLock { $0.lines.append(line) } }
}
