import HabitStore
import HabitStoreRollout
import Synchronization

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
