import Foundation

/// The history of a store as it is written, without an end: each transaction once, in order.
public struct LiveHistory: AsyncSequence, Sendable {
    let store: any HabitStore
    let token: HistoryToken

    /// How many transactions are read at once.
    private static let batch = 256

    /// Begins to follow the history, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, token: token) }

    /// One consumer's transactions.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: any HabitStore
        private var token: HistoryToken
        private var lineage: UUID?
        private var read: ArraySlice<HistoryTransaction> = []
        private var listening: LiveListening?

        init(store: any HabitStore, token: HistoryToken) { (self.store, self.token) = (store, token) }

        /// The next transaction; nil once the task was cancelled.
        ///
        /// - Throws: ``HabitStoreError/Code/historyExpired`` where what comes next was pruned, or the store was put back to an
        ///   earlier moment or replaced by one of another origin: read what you need anew, and begin from the token of that.
        public mutating func next() async throws -> HistoryTransaction? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            while true {
                if let next = read.popFirst() {
                    token = next.token
                    return next
                }
                guard let (information, found) = try await moreHistory() else { return nil }
                guard lineage ?? information.lineage == information.lineage, information.token >= token else {
                    throw HabitStoreError(
                        .historyExpired,
                        "the store was put back, or is another one: it is at token \(information.token), and token \(token) was "
                            + "told already; read what you need anew, and begin from its token"
                    )
                }
                lineage = information.lineage
                read = found[...]
                if read.isEmpty, try await listening.listener.next() == nil { return nil }
            }
        }

        /// What the store is, and the next transactions; nil once the task was cancelled.
        private func moreHistory() async throws -> (StoreInformation, [HistoryTransaction])? {
            let after = token
            do {
                return try await LiveQueries.readPatiently(store) { transaction in
                    (
                        try transaction.information(),
                        try transaction.fetchHistory(after: after, limit: LiveHistory.batch)
                    )
                }
            } catch is CancellationError {
                return nil
            }
        }
    }
}

extension HabitStore {
    /// What is written to the store behind a token, as it is written: in this process and in others.
    public func changes(after token: HistoryToken) -> LiveHistory { LiveHistory(store: self, token: token) }
}
