import Foundation

/// The results of a fetch: the current ones immediately, and new ones after every change to them, by this process or another, for as long as
/// the loop runs.
///
/// <!-- example: compiled only: the loop runs until its task is cancelled -->
/// ```swift
/// for try await change in store.results(of: FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)])) {
///     list.show(change.records, change.difference)
/// }
/// ```
///
/// Each loop is a separate consumer. A consumer that is busy misses intermediate results and gets the newest one, with the difference to the
/// one it had. The loop ends when its task is cancelled, or with an error; closing the store is one (``HabitStoreError/Code/closed``).
public struct LiveResults<Element: Sendable>: AsyncSequence, Sendable {
    let store: any HabitStore
    let subject: @Sendable () throws -> LiveSubject<Element>

    /// Begins to follow the fetch, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One consumer's answers.
    public struct Iterator: AsyncIteratorProtocol {
        private let results: LiveResults
        private var following: Following?

        init(_ results: LiveResults) { self.results = results }

        /// The next answer; nil once the task was cancelled.
        ///
        /// - Throws: what is wrong with the fetch, or with the store, for longer than ten seconds where it may pass.
        public mutating func next() async throws -> ResultsChange<Element>? {
            let following = try following ?? Following(results)
            self.following = following
            return try await following.query.next()
        }
    }

    /// Lets the store go with the iterator.
    private final class Following: Sendable {
        let query: LiveFetch<Element>
        private let queries: LiveQueries

        init(_ results: LiveResults) throws {
            query = LiveFetch(try results.subject())
            queries = results.store.liveQueries
            try queries.add(query, to: results.store)
        }

        deinit { queries.remove(query) }
    }
}

extension HabitStore {
    /// The records of a fetch, as the store changes.
    public func results<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveResults<M> {
        LiveResults(store: self) {
            LiveSubject(
                prepare: { try $0.prepare(descriptor) },
                elements: nil,
                read: { try M.read(from: &$0) },
                isSame: ==
            )
        }
    }

    /// The identifiers of a fetch, as the store changes: contents by which the fetch neither finds nor orders do not matter, and
    /// are not kept.
    public func identifiers<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveResults<UUID> {
        LiveResults(store: self) {
            LiveSubject(prepare: { try $0.prepare(descriptor) }, elements: [], read: { try $0.nextUUID() }, isSame: ==)
        }
    }

    /// Only the named attributes of the records of a fetch, as the store changes.
    public func results<M: PersistentModel>(
        of descriptor: FetchDescriptor<M>,
        _ properties: [PartialKeyPath<M>]
    ) throws -> LiveResults<Projection<M>> {
        // Key paths are not `Sendable`; what they name is.
        let attributes = try ProjectedAttributes(properties, schema: schema)
        return LiveResults(store: self) {
            LiveSubject(
                prepare: { try $0.prepare(descriptor) },
                elements: Set(attributes.positions),
                read: { try Projection(attributes, ofWhole: &$0) },
                isSame: { $0.hasSameValues(as: $1) }
            )
        }
    }

    /// How many records a fetch has, as the store changes.
    public func count<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveCount {
        LiveCount(identifiers: identifiers(of: descriptor))
    }

    /// How a live query of a fetch follows the store.
    public func explainLive<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> LiveExplanation {
        try read { transaction in
            LiveExplanation(
                LivePlan(try transaction.prepare(descriptor).query, elements: nil, schema: schema),
                schema
            )
        }
    }
}

/// How many records a fetch has as the store changes.
public struct LiveCount: AsyncSequence, Sendable {
    /// A number of records, and when it was so.
    public struct Element: Sendable, Hashable {
        /// The moment.
        public let token: HistoryToken
        /// How many there are.
        public let count: Int
        /// Why there is a new result.
        public let cause: ResultsChangeCause
    }

    let identifiers: LiveResults<UUID>

    /// Begins to follow the fetch, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(base: identifiers.makeAsyncIterator()) }

    /// One consumer's numbers.
    public struct Iterator: AsyncIteratorProtocol {
        var base: LiveResults<UUID>.Iterator
        private var last: Int?

        init(base: LiveResults<UUID>.Iterator) { self.base = base }

        /// The next number that is another one; nil once the task was cancelled.
        public mutating func next() async throws -> Element? {
            while let change = try await base.next() {
                let count = change.records.count
                guard count != last || change.cause != .changed else { continue }
                last = count
                return Element(token: change.token, count: count, cause: change.cause)
            }
            return nil
        }
    }
}
