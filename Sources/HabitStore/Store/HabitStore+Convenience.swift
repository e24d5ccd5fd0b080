import Foundation

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
