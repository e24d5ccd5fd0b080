import Foundation

/// The one boundary between an app and its records. Which engine is below is not visible here.
///
/// ```swift
/// try store.write(author: "import") { transaction in
///     try transaction.save(Habit(name: "Run"))
/// }
/// let heroes = try store.fetch(FetchDescriptor(
///     predicate: #Predicate<Habit> { $0.streak >= 7 },
///     sortBy: [SortDescriptor(\.streak, order: .reverse)]))
/// ```
///
/// The guarantees (isolation, durability, order) are stated in the article *Guarantees*.
public protocol HabitStore: AnyObject, Sendable {
    /// The entities.
    var schema: Schema { get }

    /// Where the async forms run, so that they never block the cooperative pool.
    var dispatcher: StoreDispatcher { get }

    /// What tells live queries of changes. There is no need to write it: without, they look for changes themselves.
    var liveQueries: LiveQueries { get }

    /// Runs `body` over one moment of the store. Reads run concurrently with each other and with a write.
    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R

    /// Runs `body` in a write transaction. When it returns, its changes are durable and in the history; when it throws, nothing has changed. `body`
    /// runs exactly once.
    ///
    /// - Parameters:
    ///   - author: the author in the history.
    ///   - body: the transaction's work.
    /// - Throws: the errors of `body`; ``HabitStoreError/Code/notAuthoritative`` if the store does not accept writes;
    ///   ``HabitStoreError/Code/outcomeUnknown`` if the commit failed and only reading again can tell.
    @discardableResult
    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R

    /// The async form of `read(_:)`; it runs on a thread of the store's own, never on the cooperative pool.
    ///
    /// - Throws: also `CancellationError`, when the task was cancelled before the transaction began.
    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R

    /// The async form of `write(author:_:)`; it runs on a thread of the store's own, never on the cooperative pool.
    ///
    /// - Throws: also `CancellationError`, when the task was cancelled before the transaction began; once begun, a
    ///   transaction is finished.
    @discardableResult
    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R
}

/// Single operations, each in a separate transaction.
extension HabitStore {
    /// Runs `body` in a write transaction without an author.
    @discardableResult
    public func write<R>(_ body: (any WriteTransaction) throws -> R) throws -> R { try write(author: nil, body) }

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    public func save<M: PersistentModel>(_ model: M, author: String? = nil) throws {
        try write(author: author) { try $0.save(model) }
    }

    /// Stores new records, all or none.
    public func insert<M: PersistentModel>(_ models: some Sequence<M>, author: String? = nil) throws {
        try write(author: author) { try $0.insert(contentsOf: models) }
    }

    /// Deletes a record.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    public func delete<M: PersistentModel>(_ model: M, author: String? = nil) throws -> Bool {
        try write(author: author) { try $0.delete(model) }
    }

    /// Deletes the records that fulfil a predicate.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(
        _ type: M.Type,
        where predicate: Predicate<M>,
        author: String? = nil
    ) throws -> Int {
        try write(author: author) { try $0.delete(type, where: predicate) }
    }

    /// The record of an identifier, or nil.
    public func model<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> M? {
        try read { try $0.model(type, id: id) }
    }

    /// All records of a model, by identifier.
    public func all<M: PersistentModel>(_ type: M.Type) throws -> [M] { try read { try $0.all(type) } }

    /// The records of a fetch, in order.
    public func fetch<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> [M] {
        try read { try $0.fetch(descriptor) }
    }

    /// The number of records of a fetch.
    public func fetchCount<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> Int {
        try read { try $0.fetchCount(descriptor) }
    }

    /// The identifiers of a fetch, in order.
    public func fetchIdentifiers<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> [UUID] {
        try read { try $0.fetchIdentifiers(descriptor) }
    }

    /// One page of a fetch; see ``ReadTransaction/fetchPage(_:size:)``.
    public func fetchPage<M: PersistentModel>(_ descriptor: FetchDescriptor<M>, size: Int) throws -> Page<M> {
        try read { try $0.fetchPage(descriptor, size: size) }
    }

    /// Only the named attributes of the records of a fetch.
    @inlinable
    public func project<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        _ properties: [PartialKeyPath<M>]
    ) throws -> [Projection<M>] {
        try read { try $0.project(descriptor, properties) }
    }

    /// How a fetch is answered.
    public func explain<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> QueryExplanation {
        try read { try $0.explain(descriptor) }
    }

    /// The history transactions after a token, oldest first.
    public func fetchHistory(after token: HistoryToken, limit: Int? = nil) throws -> [HistoryTransaction] {
        try read { try $0.fetchHistory(after: token, limit: limit) }
    }

    /// The token of this moment.
    public func currentToken() throws -> HistoryToken { try read { try $0.currentToken() } }

    /// Forgets the history up to and including a token.
    public func pruneHistory(through token: HistoryToken) throws {
        try write { try $0.pruneHistory(through: token) }
    }

    /// The store's information about itself.
    public func information() throws -> StoreInformation { try read { try $0.information() } }
}

/// The async forms of every operation. Swift prefers them wherever `await` is allowed. They run on the store's threads, never on the cooperative
/// pool, in the caller's task.
///
/// Each one has a blocking twin: without one, the twin's name would block a thread of the cooperative pool.
extension HabitStore {
    /// Runs `body` over one moment of the store, on a thread of the store's own.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// Runs `body` in a write transaction, on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    /// Runs `body` in a write transaction without an author, on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await write(author: nil, body)
    }

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    public func save<M: PersistentModel>(_ model: M, author: String? = nil) async throws {
        try await write(author: author) { try $0.save(model) }
    }

    /// Stores new records, all or none. A lazy sequence makes its records on the store's thread.
    public func insert<M: PersistentModel>(
        _ models: some Sequence<M> & Sendable,
        author: String? = nil
    ) async throws {
        try await write(author: author) { try $0.insert(contentsOf: models) }
    }

    /// Deletes a record.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    public func delete<M: PersistentModel>(_ model: M, author: String? = nil) async throws -> Bool {
        try await write(author: author) { try $0.delete(model) }
    }

    /// Deletes the records that fulfil a predicate.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(
        _ type: M.Type,
        where predicate: Predicate<M>,
        author: String? = nil
    ) async throws -> Int {
        try await write(author: author) { try $0.delete(type, where: predicate) }
    }

    /// The record of an identifier, or nil.
    public func model<M: PersistentModel>(_ type: M.Type, id: UUID) async throws -> M? {
        try await read { try $0.model(type, id: id) }
    }

    /// All records of a model, by identifier.
    public func all<M: PersistentModel>(_ type: M.Type) async throws -> [M] { try await read { try $0.all(type) } }

    /// The records of a fetch, in order.
    public func fetch<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> [M] {
        try await read { try $0.fetch(descriptor) }
    }

    /// The number of records of a fetch.
    public func fetchCount<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> Int {
        try await read { try $0.fetchCount(descriptor) }
    }

    /// The identifiers of a fetch, in order.
    public func fetchIdentifiers<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> [UUID] {
        try await read { try $0.fetchIdentifiers(descriptor) }
    }

    /// One page of a fetch; see ``ReadTransaction/fetchPage(_:size:)``.
    public func fetchPage<M: PersistentModel>(_ descriptor: FetchDescriptor<M>, size: Int) async throws -> Page<M> {
        try await read { try $0.fetchPage(descriptor, size: size) }
    }

    /// Only the named attributes of the records of a fetch.
    public func project<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        _ properties: [PartialKeyPath<M>]
    ) async throws -> [Projection<M>] {
        // Key paths are not `Sendable`; what they name is.
        let attributes = try ProjectedAttributes(properties, schema: schema)
        return try await read { try $0.project(descriptor, attributes) }
    }

    /// How a fetch is answered.
    public func explain<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> QueryExplanation {
        try await read { try $0.explain(descriptor) }
    }

    /// The history transactions after a token, oldest first.
    public func fetchHistory(after token: HistoryToken, limit: Int? = nil) async throws -> [HistoryTransaction] {
        try await read { try $0.fetchHistory(after: token, limit: limit) }
    }

    /// The token of this moment.
    public func currentToken() async throws -> HistoryToken { try await read { try $0.currentToken() } }

    /// Forgets the history up to and including a token.
    public func pruneHistory(through token: HistoryToken) async throws {
        try await write { try $0.pruneHistory(through: token) }
    }

    /// The store's information about itself.
    public func information() async throws -> StoreInformation { try await read { try $0.information() } }

    /// The records of a fetch in batches, in order, read as the consumer asks for them.
    ///
    /// No transaction stays open between batches: each begins after the last record of the previous one, so that records written meanwhile neither
    /// repeat nor skip any other.
    ///
    /// If the task is cancelled before the last record, the loop throws `CancellationError`: the records so far are not all.
    public func stream<M: PersistentModel>(_ descriptor: FetchDescriptor<M>, batchSize: Int = 500) -> RecordBatches<M> {
        RecordBatches(store: self, descriptor: descriptor, size: max(1, batchSize))
    }
}

extension HabitStore {
    /// Stores the records of a sequence in batches as it produces them, each batch as a whole or not at all. SwiftData uses `@ModelActor` for
    /// this: nothing blocks the caller's actor, and live queries see each batch once.
    ///
    /// Cancelling the task stops between two batches and keeps those that were stored.
    ///
    /// - Parameters:
    ///   - batchSize: how many records a batch has.
    ///   - author: the author in the history.
    ///   - progress: gets the number of records stored after each batch, on the caller's actor, so that a view's model may show it.
    /// - Returns: how many records were stored.
    /// - Throws: the errors of the sequence and of writes; batches stored before stay.
    @discardableResult
    nonisolated(nonsending) public func insert<Models: AsyncSequence>(
        contentsOf models: Models,
        batchSize: Int = 500,
        author: String? = nil,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Int where Models.Element: PersistentModel {
        var batch: [Models.Element] = []
        var count = 0
        for try await model in models {
            try Task.checkCancellation()
            batch.append(model)
            if batch.count < max(1, batchSize) { continue }
            try await insert(batch, author: author)
            count += batch.count
            batch.removeAll(keepingCapacity: true)
            progress(count)
        }
        // A sequence that ended because of cancellation is not complete.
        try Task.checkCancellation()
        if !batch.isEmpty {
            try await insert(batch, author: author)
            count += batch.count
            progress(count)
        }
        return count
    }
}
