import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitStoreRollout
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Logging
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
        let isBack = try store.applyKill() && store.stage() == .off
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

/// Compares reads of a user's two stores while this process and another one write. No read may differ, since the stores are sound.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Compare reads of a user's two stores at the same token during writes.",
        discussion:
            "Exit codes: 0 no read differed; 1 a read differed, a store failed, or too few reads could be compared."
    )

    @Option(help: "How many reads must match, half of them at the stage shadow and half at live.")
    var reads = 1_000_000

    @Option(help: "The seed of the queries and the writes.")
    var seed: UInt64 = 1

    @Option(help: "How many threads write, half of them in a second process.")
    var writers = 8

    @Option(help: "How many threads read.")
    var readers = 2

    @Option(help: "The user's old engine.")
    var from = Engines.standard.names[0]

    @Option(help: "The connection URI of the server to move to; otherwise the user moves to the other local engine.")
    var server: String?

    @Option(help: "A file of queries to run in addition to random ones.")
    var queries: String?

    @Option(help: "Fail after this many seconds.")
    var limitSeconds = 14_400.0

    @Option(
        help: ArgumentHelp(
            "Only write, into the stores under this root, until standard input ends.",
            visibility: .private
        )
    )
    var writeInto: String?

    func validate() throws {
        guard reads > 0, writers > 0, readers > 0, limitSeconds > 0 else {
            throw ValidationError("--reads, --writers, --readers and --limit-seconds must be more than 0")
        }
    }

    func run() throws {
        if let writeInto {
            let user = try SoakUser(root: writeInto, self)
            return try SoakWriters(try user.open(), count: writers, seed: seed).runUntilInputEnds()
        }
        let outcome = try Soak(self).run()
        for line in outcome.lines { print(line) }
        if !outcome.isClean { throw ExitCode(1) }
    }
}

/// The user whose reads are compared.
struct SoakUser {
    let root: String
    private let engines: Engines
    private let old: EngineName
    private let new: EngineName

    /// - Parameter command: names the user's old and new engine.
    init(root: String, _ command: SoakCommand) throws {
        self.root = root
        old = command.from
        if let server = command.server {
            try PostgresServer(server).prepare()
            engines = try Engines(Engines.standard.providers + [PostgresProvider(server: server)])
            new = .postgres
        } else {
            engines = .standard
            new = Engines.standard.pair(old: command.from).new
        }
    }

    /// A name that is unique on the server.
    private var name: String { URL(fileURLWithPath: root).lastPathComponent }
    private var flags: String { root + "/flags.json" }

    /// Creates the root, with flags that let the user move all the way.
    func make() throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try want(isKilled: false)
    }

    /// Writes the flag file, which sends the user to `complete`.
    func want(isKilled: Bool) throws {
        func flag(_ name: String, _ variants: [String], _ value: String) -> String {
            let named = variants.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
            return
                #""habit-store-\#(name)": {"state": "ENABLED", "variants": {\#(named)}, "defaultVariant": "\#(value)"}"#
        }
        let names = engines.names.map(\.rawValue)
        let flags = [
            flag("stage", Stage.allCases.map(\.rawValue), Stage.complete.rawValue), flag("old", names, old.rawValue),
            flag("new", names, new.rawValue),
            #""habit-store-kill": {"state": "ENABLED", "variants": {"on": \#(isKilled)}, "defaultVariant": "on"}"#,
        ]
        try Data("{\"flags\": {\(flags.joined(separator: ", "))}}".utf8).write(to: URL(fileURLWithPath: self.flags))
    }

    /// The user's store, opened as in any process. Every query is compared.
    func open() throws -> UserStore { try stores().store(for: name) }

    /// Opens the store that serves the user, bypassing the rollout.
    func current() throws -> any UserStoreBackend {
        try engines.open(stores().currentAddress(of: name), .readOnly, schema: HabitSchema.current)
    }

    /// Removes everything that belongs to the user.
    func remove() throws {
        let directory = try UserDirectory(root: root, user: name)
        if engines.isShared(new) {
            let address = engines.address(new, ofUser: name, inFolder: directory.path)
            if try engines.identity(of: address) != nil { try engines.provider(new).remove(address.path) }
        }
        try FileManager.default.removeItem(atPath: root)
    }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.shadowReads.oneIn = 1
        options.shadowReads.recordEvery = 10_000
        options.logger = Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
        return try UserStores(root: root, flags: flags, engines: engines, schema: HabitSchema.current, options: options)
    }

    /// The differences in the evidence.
    func differences() throws -> [String] {
        try EvidenceLog(try UserDirectory(root: root, user: name)).read().records.compactMap { record in
            guard case .difference(let stage, let token, let message, _) = record.event else { return nil }
            return "\(stage.rawValue), token \(token): \(message)"
        }
    }
}
