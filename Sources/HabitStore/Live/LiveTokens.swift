/// The moments that a store comes to as it is written: the present one at once, and then the newest, whenever there is one that the
/// consumer was not told. For whoever shows more than one fetch.
///
/// Where the store was put back or replaced, its token is told once more, be it lower or the same.
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
    /// The moments that the store comes to, as it is written: in this process and in others.
    public func tokens() -> LiveTokens { LiveTokens(store: self) }
}

/// Somebody who waits for the token of a store; lets the store go with it.
final class LiveListening: Sendable {
    let listener = LiveListener()
    private let queries: LiveQueries

    init(_ store: any HabitStore) throws {
        queries = store.liveQueries
        try queries.add(listener, to: store)
    }

    deinit { queries.remove(listener) }
}
