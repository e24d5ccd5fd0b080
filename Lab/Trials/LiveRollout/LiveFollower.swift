import HabitStore
import HabitStoreRollout
import Synchronization

/// Somebody who follows a user by a stream, and goes on with the next store where the last one was closed.
protocol LiveFollower: AnyObject, Sendable {
    /// What it follows, for people.
    var name: String { get }
    /// The loop that is going on.
    var loop: LiveLoop { get }
    /// The moment that it was told of last.
    var token: HistoryToken { get }
    /// How much it was told.
    var count: Int { get }
    /// What cannot have been, so far.
    var faults: [String] { get }

    /// Begins to follow, behind what it was told already.
    func begin(_ store: UserStore)

    /// History was pruned that it may not have come to.
    func allowRestart()

    /// Whether what it was told last is what there is in a moment.
    func isPresent(_ transaction: any ReadTransaction) throws -> Bool

    /// The moments whose answers are to be held against what the writes leave.
    var tokensToCompare: Set<HistoryToken> { get }

    /// Holds the answers of one moment against it.
    ///
    /// - Returns: how they differ; nil when they do not.
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

    /// Runs a loop, after the one that was there has ended.
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

    /// How it ended, for people.
    var end: String { state.withLock { state in state.error.map { Report.text($0) } ?? "without an error" } }

    /// Whether it ended since the store was closed.
    var isClosed: Bool { state.withLock { ($0.error as? HabitStoreError)?.code == .closed } }
}
