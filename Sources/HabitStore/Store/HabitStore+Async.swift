import Foundation

/// The async forms of every operation. Swift prefers them wherever `await` is allowed. They run on the store's threads, never on the cooperative
/// pool, in the caller's task.
///
/// Each one has a blocking twin in `HabitStore+Convenience.swift`: without one, the twin's name would block a thread of the cooperative pool.
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
