/// The tokens of a store that is being written to: the current one immediately, then the newest whenever there is one that the consumer has not
/// received. For views that show more than one fetch.
///
/// After a restore or a replacement the store's token is sent again, even if it is lower or the same.
public struct LiveTokens: AsyncSequence, Sendable {
    let store: any HabitStore

    /// Begins to follow the store, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store) }

    /// One consumer's tokens.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: any HabitStore
        private var listening: LiveListening?

        init(store: any HabitStore) { self.store = store }

        /// The next token; nil once the task was cancelled.
        ///
        /// - Throws: what is wrong with the store, for longer than ten seconds where it may pass.
        public mutating func next() async throws -> HistoryToken? {
            let listening = try listening ?? LiveListening(store)
            self.listening = listening
            return try await listening.listener.next()
        }
    }
}

extension HabitStore {
    /// The store's current token and every newer one, whichever process writes.
    public func tokens() -> LiveTokens { LiveTokens(store: self) }
}

/// A consumer of a store's tokens; releases the store when it goes.
final class LiveListening: Sendable {
    let listener = LiveListener()
    private let queries: LiveQueries

    init(_ store: any HabitStore) throws {
        queries = store.liveQueries
        try queries.add(listener, to: store)
    }

    deinit { queries.remove(listener) }
}
