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
    /// Held as long as this object lives; nil if no hook may be run.
    private let lease: LockedFile?
    private let refusal: HookFailure?
    private let state = Mutex(State())
    /// One for each hook: a wait by the wall clock would grow if the clock were set back.
    private let bells: [DispatchSemaphore]
    /// How often to check the ledger for lines of other processes.
    private static let pollSeconds = 1.0
    /// Until when, at the end of a run, the next delivery begins. One in progress has its hook's whole time.
    private static let lastSeconds = 5.0
    private let threads = DispatchGroup()

    init(
        _ hooks: [FleetPlan.Hook],
        _ outbox: HookOutbox,
        lease: consuming LockedFile?,
        refusal: HookFailure? = nil,
        retry: HookRetry = HookRetry()
    ) {
        (self.hooks, self.outbox, self.refusal, self.retry) = (hooks, outbox, refusal, retry)
        self.lease = lease
        bells = hooks.map { _ in DispatchSemaphore(value: 0) }
    }

    // MARK: Used by the run

    func start() {
        if let refusal {
            for hook in hooks { say("the hook \(hook.name) \(refusal); this run does not try again") }
            return
        }
        for (hook, bell) in zip(hooks, bells) {
            threads.enter()
            Thread.detachNewThread { [self] in
                work(for: hook, bell)
                threads.leave()
            }
        }
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
            for hook in hooks { state.refusals[hook.name] = refusal?.description }
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
    ///
    /// A program that this process left running would have no time limit any more: one that is asked to confirm a wave is stopped now, one that gets
    /// a line after its hook's timeout.
    func finish() {
        guard refusal == nil else { return }
        state.withLock { $0.question = nil }
        wake()
        let (end, wakes) = (ContinuousClock.now + .seconds(Self.lastSeconds), state.withLock { $0.wakes })
        while ContinuousClock.now < end {
            let isDone = state.withLock { state in hooks.allSatisfy { state.rounds[$0.name] ?? 0 >= wakes } }
            if isDone { break }
            Thread.sleep(forTimeInterval: 0.02)
        }
        state.withLock { $0.isStopped = true }
        wake()
        // A process that the system cannot end does not hold up the run.
        let mostSeconds = (hooks.map(\.timeoutSeconds).max() ?? 0) + 3 * HookProgram.graceSeconds
        _ = threads.wait(timeout: .now() + mostSeconds)
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
            let next = question == nil ? Self.pollSeconds : (asking.next - ContinuousClock.now) / .seconds(1)
            _ = bell.wait(timeout: .now() + max(0.01, min(Self.pollSeconds, next)))
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
        let isLast = state.withLock(\.isStopped)
        if let problem, trouble.tries == 0 { say("\(problem)") }
        guard let failure else {
            if trouble.tries > 0 { say("the hook \(hook.name) works again") }
            return trouble.succeed()
        }
        trouble.fail(retry)
        if trouble.tries == 1 {
            let next = isLast ? "the next run tries again" : "it is tried again, and no move waits for it"
            say("the hook \(hook.name) \(failure); \(next)")
        }
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
            try HookProgram.deliver(message, to: hook) { self.state.withLock { $0.question == question } }
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

/// Delivers ledger lines to hooks, from the line after the last one that each has received.
struct HookOutbox: Sendable {
    let fleet: FleetName
    let ledger: FleetLedger
    let places: HookPlaces

    /// A hook's pending lines, the earliest first, with their numbers and hashes.
    static func owed(
        _ hook: FleetPlan.Hook,
        _ place: HookPlaces.Place?,
        _ contents: FleetLedger.Contents
    ) -> [(entry: FleetLedger.Entry, head: String)] {
        zip(contents.entries, contents.heads).dropFirst(place?.told.map { count(of: $0, contents) } ?? 0)
            .filter { hook.wants($0.0.event) }
            .map { (entry: $0.0, head: $0.1) }
    }

    /// The number of lines up to a hook's last one, given its number and hash; 0 if the ledger does not contain it, unless a user was forgotten
    /// since, which changes hashes.
    private static func count(of told: String, _ contents: FleetLedger.Contents) -> Int {
        if let place = contents.heads.firstIndex(of: told) { return place + 1 }
        guard let number = told.split(separator: " ").first.flatMap({ Int($0) }), number >= 1 else { return 0 }
        let isForgotten = contents.entries.dropFirst(number).contains {
            if case .forgotten = $0.event { true } else { false }
        }
        return isForgotten ? number : 0
    }

    /// Delivers a hook's pending lines in order, until a delivery fails.
    ///
    /// - Parameters:
    ///   - deadline: when to begin no further line; nil for never.
    ///   - mayContinue: asked after each line.
    /// - Returns: how many lines were delivered and why it stopped; no reason if nothing is pending.
    func send(
        to hook: FleetPlan.Hook,
        until deadline: ContinuousClock.Instant? = nil,
        while mayContinue: () -> Bool = { true }
    ) -> (told: Int, failure: HookFailure?, problem: (any Error)?) {
        var (told, unrecorded): (Int, (any Error)?) = (0, nil)
        do {
            let owed = Self.owed(hook, places[hook.name], try ledger.read())
            for (entry, head) in owed {
                if let deadline, told > 0, ContinuousClock.now >= deadline {
                    return (told, HookFailure("is slow, and got \(told) of \(owed.count) lines"), nil)
                }
                let message = try HookMessage(entry, fleet, to: hook)
                try HookProgram.deliver(message, to: hook)
                told += 1
                do {
                    try places.update(hook.name) { $0 = .init(told: head, toldAt: Date()) }
                    unrecorded = nil
                } catch {
                    // A full disk must not hold back the lines about it. A line that is not recorded is sent again, with the same identifier.
                    unrecorded = error
                }
                guard mayContinue() else { break }
            }
            if let unrecorded {
                let words = "got \(told) of \(owed.count) lines, but that cannot be recorded: \(unrecorded)"
                return (told, HookFailure(words), unrecorded)
            }
            if owed.isEmpty, places[hook.name]?.failure != nil || !places.isRecorded {
                try places.update(hook.name) { ($0.failure, $0.failingSince) = (nil, nil) }
            }
            return (told, nil, nil)
        } catch let failure as HookFailure {
            do {
                try note(hook, failure)
                return (told, failure, nil)
            } catch {
                return (told, failure, error)
            }
        } catch {
            return (told, HookFailure("cannot be notified: \(error)"), error)
        }
    }

    private func note(_ hook: FleetPlan.Hook, _ failure: HookFailure) throws {
        try places.update(hook.name) { place in
            place.failure = failure.description
            place.failingSince = place.failingSince ?? Date()
        }
    }
}

/// The hooks' positions in the ledger: `hooks.json` in the fleet's folder. The lines after its position are pending for a hook.
///
/// Only the process that holds the lock next to the file writes it. If the file is lost, all lines are delivered again, with the same identifiers.
final class HookPlaces: Sendable {
    /// The position of a hook.
    struct Place: Codable, Sendable, Hashable {
        /// The number and hash of the last line that was delivered; nil for none.
        var told: String?
        /// When that line was delivered.
        var toldAt: Date?
        /// Why the last try failed, and since when tries have failed; nil after a success.
        var failure: String?
        var failingSince: Date?
    }

    private struct File: Codable {
        var version = 1
        var hooks: [String: Place] = [:]
        /// Whether this is on disk.
        var isRecorded = true

        enum CodingKeys: CodingKey {
            case version, hooks
        }
    }

    private let path: String
    private let file: Mutex<File>

    /// Reads the file; without one, nothing was delivered yet.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if it is damaged.
    init(_ folder: FleetFolder) throws {
        path = folder.hooks
        guard let data = try FleetFolder.contents(path, "the file of the hooks' progress") else {
            file = Mutex(File())
            return
        }
        guard let known = try? JSONDecoder().decode(File.self, from: data), known.version == 1 else {
            throw HabitStoreError(
                .corrupt,
                "the file of the hooks' progress is damaged; remove it, and they get every line of the ledger again",
                at: .init(path: path)
            )
        }
        file = Mutex(known)
    }

    /// The position of a hook; nil if it is unknown.
    subscript(hook: String) -> Place? { file.withLock { $0.hooks[hook] } }

    /// Whether all positions are on disk.
    var isRecorded: Bool { file.withLock(\.isRecorded) }

    /// Changes a hook's position and writes it to disk.
    ///
    /// - Throws: why it could not be written; this process uses the new position anyway.
    func update(_ hook: String, _ change: (inout Place) -> Void) throws {
        try file.withLock { file in
            let before = file.hooks[hook]
            change(&file.hooks[hook, default: Place()])
            guard file.hooks[hook] != before || !file.isRecorded else { return }
            file.isRecorded = false
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            do {
                try DurableFile.replace(path, try encoder.encode(file), draft: path + ".new")
                file.isRecorded = true
            } catch let failure as FileFailure {
                throw HabitStoreError.system(failure, "the file of the hooks' progress")
            }
        }
    }
}

/// When to retry a failed delivery.
struct HookRetry: Sendable, Hashable {
    /// The wait after the first failure, in seconds; it doubles after each further one, up to `mostSeconds`.
    var firstSeconds = 1.0
    var mostSeconds = 300.0
    /// After this many seconds without success, the failure is reported once more.
    var sayAfterSeconds = 3_600.0

    /// A random wait, so that hooks that failed together are not retried together.
    ///
    /// - Parameter tries: how many tries have failed, from 1.
    func wait(after tries: Int) -> Double {
        min(mostSeconds, firstSeconds * Double(1 << min(max(0, tries - 1), 30))) * Double.random(in: 0.5...1)
    }
}
