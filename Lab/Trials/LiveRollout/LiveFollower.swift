import HabitStore
import HabitStoreRollout
import Synchronization

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
