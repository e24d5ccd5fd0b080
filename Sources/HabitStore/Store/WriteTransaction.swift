import Foundation

/// The one write transaction at a time: sees its own changes, and is durable, all of it, when its closure has returned.
public protocol WriteTransaction: ReadTransaction {
    /// Stores a new record.
    ///
    /// - Throws: ``HabitStoreError/Code/uniqueViolation`` when its identifier or another unique value is taken, with
    ///   the entity, the attribute, and the identifier of the record that has it;
    ///   ``HabitStoreError/Code/invalidValue`` for NaN and infinities.
    func insert<M: PersistentModel>(_ model: M) throws

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    ///
    /// A reference that is new or changed must lead to a record by the end of the transaction.
    ///
    /// - Throws: as ``insert(_:)`` does, but for the identifier.
    func save<M: PersistentModel>(_ model: M) throws

    /// Deletes the record of an identifier, and does to the records on the other side of its relationships what the
    /// delete rules say.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``HabitStoreError/Code/deleteDenied`` when a rule forbids it.
    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool

    /// Forgets the history up to and including a token. Consumers behind it get
    /// ``HabitStoreError/Code/historyExpired``.
    func pruneHistory(through token: HistoryToken) throws
}

extension WriteTransaction {
    /// Deletes a record.
    @discardableResult
    public func delete<M: PersistentModel>(_ model: M) throws -> Bool { try delete(M.self, id: model.id) }

    /// Deletes the records of a fetch, by the same path as a fetch finds them.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> Int {
        var count = 0
        for id in try fetchIdentifiers(descriptor) where try delete(M.self, id: id) { count += 1 }
        return count
    }

    /// Deletes the records that fulfil a predicate.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(_ type: M.Type, where predicate: Predicate<M>) throws -> Int {
        try delete(FetchDescriptor(predicate: predicate))
    }
}
