import Foundation
import HabitStore
import HabitStoreRollout

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
