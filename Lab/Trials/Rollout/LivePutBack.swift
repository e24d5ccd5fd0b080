import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// The end of a round: a process that follows the user is stopped; the serving store is restored from a copy, accepted by hand and written to again,
/// up
/// to the token that the process has received, or less far, or past it. When the process continues it must be notified of that.
struct LivePutBack {
    private let scenario: LiveRolloutScenario
    private let root: String
    private let folder: URL
    private let flags: StageFlags
    private var random: SeededGenerator

    private(set) var violations: [String] = []
    /// Why the step was not possible.
    private(set) var refusal: String?

    /// The maximum number of lost writes.
    private static let mostLost = 4
    /// The time limit for the process to receive the current state: a change of the control file wakes it, or it polls after a second.
    private static let seconds = 20.0
    private static let pauseSeconds = 0.005

    init(_ scenario: LiveRolloutScenario, root: String, flags: StageFlags, in folder: URL) {
        (self.scenario, self.root, self.flags, self.folder) = (scenario, root, flags, folder)
        random = SeededGenerator(seed: scenario.streamSeed &+ 7)
    }

    mutating func run() throws {
        do {
            try putBack()
        } catch let error as HabitStoreError where error.code == .busy || error.code == .notAuthoritative {
            refusal = Report.text(error)
        }
    }

    private mutating func putBack() throws {
        let (engine, token) = try withUser { (try $0.engine(), try $0.currentToken()) }
        let place = try UserDirectory(root: root, user: SweptUser.name).address(engine)
        let provider = try Engines.standard.provider(engine)
        let copy = folder.appendingPathComponent("put-back").path
        try provider.copy(place.path, to: copy)
        let process = try ConcurrentProcess(
            [
                "--root", root, "--flags", folder.appendingPathComponent("flags-follower.json").path, "--old",
                scenario.old.rawValue, "--after", "\(token)",
            ],
            as: "live-child",
            of: nil,
            writerIndex: 0,
            crashPoint: nil,
            errors: folder.appendingPathComponent("errors-follower")
        )
        defer { process.child.signal(SIGKILL) }
        let lost = random.int(1...Self.mostLost)
        let told = try withUser { store in
            for number in 1...lost { try store.save(Draft(content: "lost \(number)")) }
            return try present(store)
        }
        guard isTold(process, "the first writes", { $0.contains(.history(told.token)) && Self.last(told, $0) }) else {
            return
        }
        process.child.signal(SIGSTOP)
        try provider.remove(place.path)
        try provider.copy(copy, to: place.path)
        let stores = try UserStores(root: root, flags: flags.path, schema: HabitSchema.current, options: .concurrent)
        _ = try stores.adopt(engine, for: SweptUser.name, by: "the trial", because: "it was put back")
        let found = random.int(0...lost + 2)
        let now = try withUser { store in
            for number in 0..<found { try store.save(Draft(content: "found \(number)")) }
            return try present(store)
        }
        let before = lines(process).count
        process.child.signal(SIGCONT)
        let what = "the restored store, which lost \(lost) writes and got \(found)"
        guard
            isTold(
                process,
                what,
                { lines in
                    let new = lines.dropFirst(before)
                    return Self.last(now, lines)
                        && new.contains(.end(.history, "\(HabitStoreError.Code.historyExpired.rawValue)"))
                        && new.contains { if case .answers(_, .requeried, _) = $0 { true } else { false } }
                        && new.contains(.tokens(now.token))
                }
            )
        else { return }
        // It continues from there.
        let later = try withUser { store in
            try store.save(Draft(content: "later"))
            return try present(store)
        }
        guard isTold(process, "the last write", { Self.last(later, $0) }) else { return }
        let end = try process.child.finish()
        if end.isSignalled || end.status != 0 {
            violations.append("the following process ended with \(end.status): \(process.death.summary)")
        }
    }

    // MARK: Checking

    private struct Present {
        let token: HistoryToken
        let sum: UInt64
    }

    private func present(_ store: UserStore) throws -> Present {
        try store.read {
            Present(token: try $0.currentToken(), sum: LiveChildLine.sum(try $0.fetch(LiveChildLine.question)))
        }
    }

    private func withUser<R>(_ body: (UserStore) throws -> R) throws -> R {
        let user = try SweptUser(root: root, flags: flags, options: .concurrent)
        defer { user.store.close() }
        return try body(user.store)
    }

    private func lines(_ process: ConcurrentProcess) -> [LiveChildLine] {
        let text = String(decoding: process.child.output, as: UTF8.self)
        // The text after the last newline is not a whole line.
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { LiveChildLine($0) }
    }

    /// Whether the last answer is the current one.
    private static func last(_ present: Present, _ lines: [LiveChildLine]) -> Bool {
        let answer = lines.last { if case .answers = $0 { true } else { false } }
        guard case .answers(present.token, _, present.sum)? = answer else { return false }
        return true
    }

    private mutating func isTold(
        _ process: ConcurrentProcess,
        _ what: String,
        _ isThere: ([LiveChildLine]) -> Bool
    ) -> Bool {
        let deadline = ContinuousClock.now + .seconds(Self.seconds)
        while ContinuousClock.now < deadline {
            if isThere(lines(process)) { return true }
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        let told = lines(process).suffix(8).map { "\($0)" }.joined(separator: "; ")
        violations.append(
            "the following process did not receive \(what) within \(Self.seconds) s; its last lines: \(told)"
        )
        return false
    }
}

/// A process that only follows a user and reports each element, until its standard input ends.
struct LiveChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-child",
        abstract: "Follow a user together with other processes; started by live-rollout.",
        shouldDisplay: false
    )

    @Option(help: "The root of the users' stores.")
    var root: String

    @Option(help: "The flag file, which this process writes.")
    var flags: String

    @Option(help: "The engine that the flag file calls the old one.")
    var old: EngineName

    @Option(help: "The token after which to follow the history.")
    var after: Int64

    func run() throws {
        let flags = StageFlags(path: flags, old: old)
        try flags.want(.init())
        let user = try SweptUser(root: root, flags: flags, options: .concurrent)
        let store = user.store
        Self.follow(.history) {
            for try await transaction in store.changes(after: HistoryToken(rawValue: after)) {
                LiveChildLine.history(transaction.token).tell()
            }
        }
        Self.follow(.answers) {
            for try await change in store.results(of: LiveChildLine.question) {
                LiveChildLine.answers(change.token, change.cause, LiveChildLine.sum(Array(change.records))).tell()
            }
        }
        Self.follow(.tokens) { for try await token in store.tokens() { LiveChildLine.tokens(token).tell() } }
        while readLine() != nil {}
        store.close()
    }

    private static func follow(_ stream: LiveChildLine.Stream, _ body: @escaping @Sendable () async throws -> Void) {
        Task {
            do {
                try await body()
            } catch {
                let code = (error as? HabitStoreError)?.code
                LiveChildLine.end(stream, code?.rawValue ?? "\(error)").tell()
            }
        }
    }
}

/// The output of a process that follows a user: one line for each element of a stream.
enum LiveChildLine: Equatable {
    enum Stream: String {
        case history, answers, tokens
    }

    case history(HistoryToken)
    case answers(HistoryToken, ResultsChangeCause, _ sum: UInt64)
    case tokens(HistoryToken)
    /// A stream ended with an error with this code.
    case end(Stream, String)

    /// The query of its live results.
    static let question = FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.content)])

    /// A hash of an answer.
    static func sum(_ drafts: [Draft]) -> UInt64 {
        Array(drafts.map { "\($0.id) \($0.content)" }.joined(separator: "\n").utf8)
            .withUnsafeBytes { XXHash64.hash($0, seed: 0) }
    }

    private var text: String {
        switch self {
        case .history(let token): "\(Stream.history.rawValue) \(token)"
        case .answers(let token, let cause, let sum): "\(Stream.answers.rawValue) \(token) \(cause.rawValue) \(sum)"
        case .tokens(let token): "\(Stream.tokens.rawValue) \(token)"
        case .end(let stream, let code): "end \(stream.rawValue) \(code)"
        }
    }

    init?(_ text: some StringProtocol) {
        let words = text.split(separator: Character(" ")).map { String($0) }
        func token() -> HistoryToken? {
            words.count > 1 ? Int64(words[1]).map { HistoryToken(rawValue: $0) } : nil
        }
        if words.count == 3, words[0] == "end", let stream = Stream(rawValue: words[1]) {
            self = .end(stream, words[2])
            return
        }
        guard let stream = words.first.flatMap(Stream.init(rawValue:)), let token = token() else { return nil }
        switch stream {
        case .history: self = .history(token)
        case .tokens: self = .tokens(token)
        case .answers:
            guard words.count == 4, let cause = ResultsChangeCause(rawValue: words[2]), let sum = UInt64(words[3])
            else {
                return nil
            }
            self = .answers(token, cause, sum)
        }
    }

    /// Writes the line in one call. If the parent is gone, no process reads it.
    func tell() {
        let line = Array("\(text)\n".utf8)
        _ = line.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
