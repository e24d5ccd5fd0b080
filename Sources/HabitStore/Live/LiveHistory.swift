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
        /// What the token stands for; nil where that was never read.
        private var moment: HistoryMoment?
        /// The store that what was read came from.
        private var origin: StoreInformation?
        private var read: ArraySlice<HistoryTransaction> = []
        private var listening: LiveListening?

        init(store: any HabitStore, token: HistoryToken) { (self.store, self.token) = (store, token) }

        /// The next transaction; nil once the task was cancelled.
        ///
        /// - Throws: ``HabitStoreError/Code/historyExpired`` where what comes next was pruned, or what was told is not in the store's
        ///   history: it was put back to an earlier moment, also where it has been written again since, or replaced by one of another
        ///   origin. Read what you need anew, and begin from the token of that. ``HabitStoreError/Code/fileMoved`` where the path of a
        ///   store does not lead to its file any more.
        public mutating func next() async throws -> HistoryTransaction? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            while true {
                if let next = read.popFirst() {
                    token = next.token
                    // Only what is told last is held against what the next read finds.
                    if read.isEmpty, let origin { moment = HistoryMoment(token, origin, next) }
                    return next
                }
                guard let found = try await moreHistory() else { return nil }
                (origin, moment, read) = (found.origin, found.moment, found.transactions)
                if read.isEmpty, try await listening.listener.next() == nil { return nil }
            }
        }

        private struct Found {
            let origin: StoreInformation
            /// The moment after which the transactions come, as the store has it.
            let moment: HistoryMoment
            let transactions: ArraySlice<HistoryTransaction>
        }

        /// What the store is, and the next transactions; nil once the task was cancelled.
        private func moreHistory() async throws -> Found? {
            let (token, moment) = (token, moment)
            do {
                return try await LiveQueries.readPatiently(store) { transaction in
                    try Self.read(transaction, after: token, moment)
                }
            } catch is CancellationError {
                return nil
            }
        }

        private static func read(
            _ transaction: any ReadTransaction,
            after token: HistoryToken,
            _ moment: HistoryMoment?
        ) throws -> Found {
            let information = try transaction.information()
            let known = moment?.continuity(in: information)
            guard token <= information.token else { throw ahead(token, information, wasTold: moment != nil) }
            guard known != .replaced else { throw replaced(token) }
            // The one that was told last is read with those that come next.
            let isThere = token > information.historyFloor
            let start = isThere ? HistoryToken(rawValue: token.rawValue - 1) : token
            var found = try transaction.fetchHistory(after: start, limit: LiveHistory.batch)[...]
            let told = isThere ? found.popFirst() : nil
            if let moment, known == nil, !moment.isAfter(told) { throw replaced(token) }
            return Found(
                origin: information,
                moment: HistoryMoment(token, information, told),
                transactions: found
            )
        }

        private static func ahead(
            _ token: HistoryToken,
            _ information: StoreInformation,
            wasTold: Bool
        ) -> HabitStoreError {
            let here = information.token
            return HabitStoreError(
                .historyExpired,
                wasTold
                    ? "the store was put back, or is another one: it is at token \(here), and token \(token) was told already; "
                        + "read what you need anew, and begin from its token"
                    : "the store is at token \(here) and has not come to token \(token); begin from a token that it has"
            )
        }

        private static func replaced(_ token: HistoryToken) -> HabitStoreError {
            HabitStoreError(
                .historyExpired,
                "the store was put back, or is another one: what was told up to token \(token) is not its history; "
                    + "read what you need anew, and begin from its token"
            )
        }
    }
}

extension HabitStore {
    /// What is written to the store behind a token, as it is written: in this process and in others.
    public func changes(after token: HistoryToken) -> LiveHistory { LiveHistory(store: self, token: token) }
}
