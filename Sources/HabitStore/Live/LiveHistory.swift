import Foundation

/// A store's history as it grows: each transaction once, in order, without an end.
public struct LiveHistory: AsyncSequence, Sendable {
    let store: any HabitStore
    let token: HistoryToken

    /// How many transactions one read fetches.
    private static let batch = 256

    /// Begins to follow the history, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, token: token) }

    /// One consumer's transactions.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: any HabitStore
        private var token: HistoryToken
        /// The moment of the token; nil if it was never read.
        private var moment: HistoryMoment?
        /// The store that what was read came from.
        private var origin: StoreInformation?
        private var read: ArraySlice<HistoryTransaction> = []
        private var listening: LiveListening?

        init(store: any HabitStore, token: HistoryToken) { (self.store, self.token) = (store, token) }

        /// The next transaction; nil after the task was cancelled.
        ///
        /// - Throws: ``HabitStoreError/Code/historyExpired`` if the next transaction was pruned, or if the last one is not in the store's history: the
        ///   store was restored to an earlier moment, perhaps written to since, or replaced by an unrelated one. Read the records again, and continue
        ///   from the token of that read. ``HabitStoreError/Code/fileMoved`` if the store's path no longer leads to its file.
        public mutating func next() async throws -> HistoryTransaction? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            while true {
                if let next = read.popFirst() {
                    token = next.token
                    // Only the last transaction is checked against the next read.
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

        /// The store's state and its next transactions; nil after the task was cancelled.
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
            // The last transaction is read again, together with the next ones.
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
                    ? "the store was restored or replaced: it is at token \(here), and token \(token) was already delivered; "
                        + "read what you need again, and start from its token"
                    : "the store is at token \(here) and has not reached token \(token); start from a token that it has"
            )
        }

        private static func replaced(_ token: HistoryToken) -> HabitStoreError {
            HabitStoreError(
                .historyExpired,
                "the store was restored or replaced: the changes delivered up to token \(token) are not its history; "
                    + "read what you need again, and start from its token"
            )
        }
    }
}

extension HabitStore {
    /// The transactions after a token, written by this process or by others, as they arrive.
    public func changes(after token: HistoryToken) -> LiveHistory { LiveHistory(store: self, token: token) }
}
