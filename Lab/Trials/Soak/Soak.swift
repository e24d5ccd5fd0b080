import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import StandardEngines
import Synchronization

/// A run: the stage `shadow` first, then `live`, until enough reads have matched.
struct Soak {
    /// The result of a run.
    struct Outcome {
        var lines: [String]
        var isClean: Bool
    }

    /// How many queries a transaction runs: meanwhile the other store moves past its token.
    private static let questionsInTransaction = 4
    /// How often the move to the next stage is tried: writers do not stop for it.
    private static let tries = 100

    private let command: SoakCommand
    private let user: SoakUser

    init(_ command: SoakCommand) throws {
        self.command = command
        let name = "habitstore-soak-\(UUID().uuidString)"
        user = try SoakUser(root: FileManager.default.temporaryDirectory.appendingPathComponent(name).path, command)
    }

    func run() throws -> Outcome {
        try user.make()
        defer { try? user.remove() }
        let store = try user.open()
        defer { store.close() }
        try SoakWriters.fill(store, seed: command.seed)
        let questions = try questions()
        try advance(store, to: .shadow)
        let own = SoakWriters(store, count: max(1, command.writers / 2), seed: command.seed &* 31)
        let other = try SoakProcess(command, root: user.root)
        own.start()
        var outcome = Outcome(lines: [header], isClean: true)
        let deadline = ContinuousClock.now + .seconds(command.limitSeconds)
        for (number, stage) in [Stage.shadow, .live].enumerated() {
            if stage == .live { try advance(store, to: .live) }
            let share = number == 0 ? command.reads - command.reads / 2 : command.reads / 2
            try read(store, stage, questions, share, deadline, &outcome)
        }
        let writes = (own: try own.stop(), other: try other.finish())
        outcome.lines.append("\(writes.own) transactions written here, \(writes.other) in the other process")
        if min(writes.own, writes.other) == 0 { outcome.isClean = false }
        try goBack(store, &outcome)
        let differences = try user.differences()
        outcome.lines += differences.prefix(10).map { "DIFFERENCE at \($0)" }
        if !differences.isEmpty { outcome.isClean = false }
        outcome.lines.append(outcome.isClean ? "no false alarm" : "FAILED")
        return outcome
    }

    /// The kill switch moves the user back with all records.
    private func goBack(_ store: UserStore, _ outcome: inout Outcome) throws {
        let (count, token) = (try store.fetchCount(FetchDescriptor<Entry>()), try store.currentToken())
        try user.want(isKilled: true)
        store.reloadFlags()
        let isBack = try store.land() && store.stage() == .off
        let isWhole = try (store.fetchCount(FetchDescriptor<Entry>()), store.currentToken()) == (count, token)
        outcome.lines.append(
            "killed: \(count) entries before, at token \(token), and \(isWhole ? "the same" : "OTHERS") after it"
        )
        if !isBack || !isWhole { outcome.isClean = false }
    }

    private var header: String {
        "soak of shadow reads, seed \(command.seed): \(command.reads) must match, \(command.writers) writers in 2 "
            + "processes, \(command.readers) readers"
    }

    /// Reads on several threads until enough reads have matched.
    private func read(
        _ store: UserStore,
        _ stage: Stage,
        _ questions: (Int) -> SoakQuestions,
        _ wanted: Int,
        _ deadline: ContinuousClock.Instant,
        _ outcome: inout Outcome
    ) throws {
        let before = store.shadowReads
        let start = ContinuousClock.now
        let failure = Mutex<(any Error)?>(nil)
        let askers = (0..<command.readers).map { questions($0 + stage.position * 100) }
        DispatchQueue.concurrentPerform(iterations: command.readers) { number in
            var questions = askers[number]
            do {
                while Self.count(.match, store, since: before) < wanted, ContinuousClock.now < deadline,
                    Self.count(.mismatch, store, since: before) == 0, failure.withLock({ $0 == nil })
                {
                    try store.read { try questions.ask($0, count: Self.questionsInTransaction) }
                    // Reads that run ahead would be compared at tokens that have already passed.
                    store.drainShadowReads(seconds: 10)
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let counts = ShadowVerdict.allCases.map { ($0, Self.count($0, store, since: before)) }
        let text = counts.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
        outcome.lines.append("\(stage.rawValue): \(text), in \(Int(seconds)) s")
        let found = Dictionary(uniqueKeysWithValues: counts)
        if found[.match, default: 0] < wanted || found[.mismatch] != 0 || found[.error] != 0 { outcome.isClean = false }
        if try store.stage() != stage { outcome.isClean = false }
    }

    private static func count(_ verdict: ShadowVerdict, _ store: UserStore, since before: [ShadowVerdict: Int]) -> Int {
        store.shadowReads[verdict, default: 0] - before[verdict, default: 0]
    }

    private func questions() throws -> (Int) -> SoakQuestions {
        let queries =
            try command.queries.map { try QueryFile.load(path: $0).queries.map { try $0.recordQuery() } } ?? []
        // Filters are drawn from the store's contents before the writers start.
        let file = try user.current()
        defer { file.close() }
        let data = try Self.data(of: file)
        let seed = command.seed
        return { number in SoakQuestions(about: data, queries: queries, seed: seed &+ UInt64(number) &* 104_729) }
    }

    private static func data(of store: some ReplicableStore) throws -> FuzzData {
        try FuzzData(name: "soak", of: store)
    }

    private func advance(_ store: UserStore, to stage: Stage) throws {
        var decision: GateDecision?
        for _ in 0..<Self.tries {
            if try store.stage() == stage { return }
            decision = try store.advance(to: stage, waitSeconds: 10)
        }
        let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "the gate gave no decision"
        throw HabitStoreError(.busy, "the user did not reach \(stage.rawValue): \(reasons)")
    }
}
