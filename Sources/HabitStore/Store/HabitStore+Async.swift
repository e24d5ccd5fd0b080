import Foundation

/// The async forms. They run on threads of the store's own, never on the cooperative pool.
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

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    public func save<M: PersistentModel>(_ model: M, author: String? = nil) async throws {
        try await write(author: author) { try $0.save(model) }
    }

    /// Deletes a record.
    @discardableResult
    public func delete<M: PersistentModel>(_ model: M, author: String? = nil) async throws -> Bool {
        try await write(author: author) { try $0.delete(model) }
    }

    /// The records of a fetch, in order.
    public func fetch<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> [M] {
        try await read { try $0.fetch(descriptor) }
    }

    /// The number of records of a fetch.
    public func fetchCount<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) async throws -> Int {
        try await read { try $0.fetchCount(descriptor) }
    }

    /// The records of a fetch in batches, in order, read as the consumer asks for them.
    ///
    /// No transaction stays open between two batches: each begins behind the last record of the one before, so that
    /// records written meanwhile neither repeat nor skip any other.
    public func stream<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        batchSize: Int = 500
    ) -> AsyncThrowingStream<[M], any Error> {
        PagedStream.make(self, descriptor, batchSize: batchSize)
    }
}
