import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import Synchronization

/// All followers of a user in this process, and the faults in what they received.
struct LiveFollowers {
    private var questions: LiveQuestions
    /// The feeds; the first one follows the whole history.
    private var feeds = [LiveFeed(after: .zero)]
    private var streams: [any LiveFollower] = []
    /// Streams that ended during the run.
    private var ended: [any LiveFollower] = []
    /// The last pruned token.
    private var floor = HistoryToken.zero
    private(set) var violations: [String] = []
    /// How many answers were compared with a replay of the writes.
    private(set) var compared = 0
    /// The longest time until all followers had received an acknowledged write, and any other write.
    private(set) var slowestSeconds = (acknowledged: 0.0, other: 0.0)

    /// The time limit to receive an acknowledged write. It is below ten seconds, after which followers poll the store on their own.
    private static let acknowledgedSeconds = 8.0
    /// The time limit to receive a write whose writer died before it acknowledged the write: about ten seconds are documented.
    private static let otherSeconds = 40.0

    /// The time limit to end once the store is closed.
    private static let endingSeconds = 20.0
    private static let pauseSeconds = 0.005

    init(seed: UInt64, streams count: Int) throws {
        questions = try LiveQuestions(seed: seed)
        for _ in 0..<count { streams.append(try questions.next()) }
    }

    private var all: [any LiveFollower] { feeds + streams }

    /// How many elements all followers received.
    var told: Int { (all + ended).reduce(0) { $0 + $1.count } }

    // MARK: Following

    func begin(_ store: UserStore) { for follower in all { follower.begin(store) } }

    /// Ends the stream at a place, and starts another one there.
    mutating func exchange(_ place: Int, _ store: UserStore) throws {
        let before = streams[place]
        before.loop.cancel()
        awaitEnd(of: [before], "it was cancelled")
        ended.append(before)
        streams[place] = try questions.next()
        streams[place].begin(store)
    }

    /// Follows the history again, after a percentage of what was received of it.
    mutating func follow(after percent: Int, _ store: UserStore) {
        let token = HistoryToken(rawValue: feeds[0].token.rawValue * Int64(percent) / 100)
        let feed = LiveFeed(after: max(floor, token))
        feeds.append(feed)
        feed.begin(store)
    }

    /// Prunes the history that all feeds have received, except for its last transactions.
    ///
    /// - Returns: whether there was any.
    mutating func prune(but kept: Int, _ store: UserStore) throws -> Bool {
        let token = HistoryToken(rawValue: (feeds.map(\.token.rawValue).min() ?? 0) - Int64(kept))
        guard token > .zero else { return false }
        for stream in streams { stream.allowRestart() }
        floor = max(floor, token)
        try store.pruneHistory(through: token)
        return true
    }

    // MARK: Checking

    /// A stream must not end before its store is closed.
    mutating func noteEnds() {
        for follower in all where !follower.loop.isRunning {
            violations.append("\(follower.name): ended \(follower.loop.end)")
        }
    }

    /// Waits until all followers have received the current state; no process may be writing.
    ///
    /// - Parameter isAcknowledged: whether the last write was acknowledged.
    mutating func awaitPresent(_ store: UserStore, isAcknowledged: Bool) throws {
        let begun = ContinuousClock.now
        let limit = isAcknowledged ? Self.acknowledgedSeconds : Self.otherSeconds
        var missing = all
        while true {
            missing = try store.read { transaction in try missing.filter { try !$0.isPresent(transaction) } }
            let seconds = (ContinuousClock.now - begun) / .seconds(1)
            guard !missing.isEmpty else {
                let slowest = isAcknowledged ? \Self.slowestSeconds.acknowledged : \.slowestSeconds.other
                return self[keyPath: slowest] = max(self[keyPath: slowest], seconds)
            }
            guard seconds < limit else { break }
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        let token = try store.currentToken()
        for follower in missing {
            let end = follower.loop.isRunning ? "is still waiting" : "ended \(follower.loop.end)"
            violations.append(
                "\(follower.name): did not reach token \(token) within \(limit) s; it received \(follower.count) "
                    + "elements, the last at token \(follower.token), and \(end)"
            )
        }
    }

    /// Waits until all followers have ended after the store was closed.
    mutating func awaitEnds() {
        awaitEnd(of: all, "the store was closed")
        for follower in all where !follower.loop.isRunning && !follower.loop.isClosed {
            violations.append("\(follower.name): ended \(follower.loop.end) when the store was closed")
        }
    }

    private mutating func awaitEnd(of followers: [any LiveFollower], _ reason: String) {
        let deadline = ContinuousClock.now + .seconds(Self.endingSeconds)
        while followers.contains(where: \.loop.isRunning), ContinuousClock.now < deadline {
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        for follower in followers where follower.loop.isRunning {
            violations.append("\(follower.name): did not end within \(Self.endingSeconds) s after \(reason)")
        }
    }

    // MARK: Comparing

    /// The whole history: the received part for what was pruned, and the kept part.
    ///
    /// - Parameters:
    ///   - start: the last token that the store has pruned.
    ///   - kept: the history in the store.
    mutating func history(after start: HistoryToken, _ kept: [HistoryTransaction]) -> [HistoryTransaction] {
        if start > floor {
            violations.append("the history is missing through \(start), but was pruned through \(floor)")
        }
        return feeds[0].told(through: start) + kept
    }

    /// Compares everything received with the history and the records of the store that serves at the end.
    mutating func compare(_ history: [HistoryTransaction], _ final: Contents) throws {
        for follower in all + ended { violations += follower.faults.map { "\(follower.name): \($0)" } }
        for feed in feeds { if let wrong = feed.compare(history) { violations.append("\(feed.name): \(wrong)") } }
        let outcome = try LiveReference(history).compare(streams + ended, final: final)
        compared += outcome.compared
        violations += outcome.violations
    }
}

/// Follows a user by a stream, and continues with the next store after the last one was closed.
protocol LiveFollower: AnyObject, Sendable {
    /// A description of the stream.
    var name: String { get }
    /// The current loop.
    var loop: LiveLoop { get }
    /// The last token received.
    var token: HistoryToken { get }
    /// The number of elements received.
    var count: Int { get }
    /// The faults found so far.
    var faults: [String] { get }

    /// Starts to follow a store, after the last element received.
    func begin(_ store: UserStore)

    /// Allows a restart: history was pruned that it may not have received yet.
    func allowRestart()

    /// Whether its last element is the current state.
    func isPresent(_ transaction: any ReadTransaction) throws -> Bool

    /// The tokens whose answers should be compared with a replay of the writes.
    var tokensToCompare: Set<HistoryToken> { get }

    /// Compares the answers of one token with the store's state at it.
    ///
    /// - Returns: the difference; nil if there is none.
    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) throws -> String?
}

/// A loop over a stream.
final class LiveLoop: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isRunning = false
        var error: (any Error)?
    }

    private let state = Mutex(State())

    /// Runs a loop after the previous one has ended.
    func begin(_ body: @escaping @Sendable () async throws -> Void) {
        state.withLock { ($0.isRunning, $0.error) = (true, nil) }
        let task = Task { [self] in
            var failure: (any Error)?
            do { try await body() } catch { failure = error }
            end(failure)
        }
        state.withLock { $0.task = task }
    }

    private func end(_ error: (any Error)?) { state.withLock { ($0.isRunning, $0.error) = (false, error) } }

    func cancel() { state.withLock { $0.task }?.cancel() }

    var isRunning: Bool { state.withLock { $0.isRunning } }

    /// A description of how it ended.
    var end: String { state.withLock { state in state.error.map { Report.text($0) } ?? "without an error" } }

    /// Whether it ended because the store was closed.
    var isClosed: Bool { state.withLock { ($0.error as? HabitStoreError)?.code == .closed } }
}

/// Follows a query: each answer must belong to a later token than the one before, must equal that one plus the difference, and must equal a fetch at
/// its
/// token.
final class LiveAnswers<Answer: Equatable & Sendable>: LiveFollower {
    /// An element of a stream, with what all streams have in common.
    struct Element {
        let token: HistoryToken
        /// Nil if the stream has no causes.
        let cause: ResultsChangeCause?
        let answer: Answer
        /// Whether the previous answer plus the difference is the answer.
        let isConsistent: Bool
    }

    private struct Told {
        let token: HistoryToken
        let answer: Answer
    }

    private struct State {
        var last: Told?
        /// Whether the current loop has received an element.
        var hasBegun = false
        var mayRestart = false
        var count = 0
        /// A uniform random sample of the received answers.
        var samples: [Told] = []
        var faults: [String] = []
        var generator: SeededGenerator
    }

    typealias Take = @Sendable (Element) async throws -> Void

    let name: String
    let loop = LiveLoop()
    private let follow: @Sendable (UserStore, Take) async throws -> Void
    private let fetch: @Sendable (any ReadTransaction) throws -> Answer
    /// How long it is busy after each element, at most.
    private let busyMilliseconds: Int
    private let state: Mutex<State>

    /// How many answers are compared with a replay of the writes.
    private static var mostSamples: Int { 24 }

    init(
        _ name: String,
        seed: UInt64,
        busyMilliseconds: Int,
        _ follow: @escaping @Sendable (UserStore, Take) async throws -> Void,
        fetch: @escaping @Sendable (any ReadTransaction) throws -> Answer
    ) {
        (self.name, self.busyMilliseconds, self.follow, self.fetch) = (name, busyMilliseconds, follow, fetch)
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    var token: HistoryToken { state.withLock { $0.last?.token ?? .zero } }
    var count: Int { state.withLock { $0.count } }
    var faults: [String] { state.withLock { $0.faults } }

    func begin(_ store: UserStore) {
        state.withLock { $0.hasBegun = false }
        loop.begin { [self] in
            try await follow(store) { element in
                let milliseconds = take(element)
                if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
            }
        }
    }

    /// Records an element.
    ///
    /// - Returns: how many milliseconds the follower is now busy.
    func take(_ element: Element) -> Int {
        state.withLock { state in
            func note(_ fault: String) { state.faults.append("token \(element.token): \(fault)") }
            if let last = state.last?.token, element.token < last || element.token == last && state.hasBegun {
                note("an element arrived after that of token \(last)")
            }
            let isExpected =
                switch element.cause {
                case .first: !state.hasBegun
                case .changed: state.hasBegun
                case .requeried: state.hasBegun && state.mayRestart
                case nil: true
                }
            if !isExpected { note("unexpected cause \(element.cause?.rawValue ?? "none")") }
            if !element.isConsistent { note("the previous answer plus the difference is not the answer") }
            let told = Told(token: element.token, answer: element.answer)
            state.last = told
            state.hasBegun = true
            state.count += 1
            let place = state.generator.int(0...state.count - 1)
            if state.samples.count < Self.mostSamples {
                state.samples.append(told)
            } else if place < Self.mostSamples {
                state.samples[place] = told
            }
            return state.generator.int(0...busyMilliseconds)
        }
    }

    func allowRestart() { state.withLock { $0.mayRestart = true } }

    func isPresent(_ transaction: any ReadTransaction) throws -> Bool {
        guard let last = state.withLock({ $0.hasBegun ? $0.last : nil }) else { return false }
        return try fetch(transaction) == last.answer
    }

    private func told() -> [Told] { state.withLock { $0.samples + ($0.last.map { [$0] } ?? []) } }

    var tokensToCompare: Set<HistoryToken> { Set(told().map(\.token)) }

    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) throws -> String? {
        let expected = try fetch(transaction)
        guard let wrong = told().first(where: { $0.token == token && $0.answer != expected }) else { return nil }
        let (found, wanted) = ("\(wrong.answer)".prefix(Self.textLength), "\(expected)".prefix(Self.textLength))
        return "the answer at token \(token) differs from a fetch: \(found), not \(wanted)"
    }

    private static var textLength: Int { 600 }
}

/// Follows the history after a token: it must receive each transaction once, in order.
final class LiveFeed: LiveFollower {
    private struct State {
        var told: [HistoryTransaction] = []
        var faults: [String] = []
    }

    let loop = LiveLoop()
    private let start: HistoryToken
    private let state = Mutex(State())

    init(after start: HistoryToken) { self.start = start }

    var name: String { "the history after \(start)" }
    var token: HistoryToken { state.withLock { $0.told.last?.token ?? start } }
    var count: Int { state.withLock { $0.told.count } }
    var faults: [String] { state.withLock { $0.faults } }

    func begin(_ store: UserStore) {
        let last = token
        loop.begin { [self] in for try await transaction in store.changes(after: last) { take(transaction) } }
    }

    /// Records a transaction.
    func take(_ transaction: HistoryTransaction) {
        state.withLock { state in
            let last = state.told.last?.token ?? start
            if transaction.token.rawValue != last.rawValue + 1 {
                state.faults.append("token \(transaction.token) was received after token \(last)")
            }
            state.told.append(transaction)
        }
    }

    /// History is pruned only as far as this follower has received it.
    func allowRestart() {}

    /// The transactions that it received, up to a token.
    func told(through token: HistoryToken) -> [HistoryTransaction] {
        state.withLock { $0.told.filter { $0.token <= token } }
    }

    func isPresent(_ transaction: any ReadTransaction) throws -> Bool {
        try transaction.information().token == token
    }

    /// The history is compared as a whole, by ``compare(_:)``.
    var tokensToCompare: Set<HistoryToken> { [] }
    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) -> String? { nil }

    /// Compares the received transactions with the whole history of the store that serves at the end.
    ///
    /// - Returns: the difference; nil if there is none.
    func compare(_ history: [HistoryTransaction]) -> String? {
        let (told, expected) = (state.withLock { $0.told }, history.filter { $0.token > start })
        guard told != expected else { return nil }
        let place = zip(told, expected).enumerated().first { $0.element.0 != $0.element.1 }
        guard let place else { return "received \(told.count) transactions, but the history has \(expected.count)" }
        return "the transaction received at token \(place.element.0.token) differs from the history: \(place.element)"
    }
}
