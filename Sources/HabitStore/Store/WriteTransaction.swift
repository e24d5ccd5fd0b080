import Foundation

/// The one write transaction at a time: sees its own changes, and is durable, all of it, when its closure has returned.
public protocol WriteTransaction: ReadTransaction {
    /// Stores a new record.
    ///
    /// - Throws: ``HabitStoreError/Code/uniqueViolation`` when its identifier or another unique value is taken, with
    ///   the entity, the attribute, and the identifier of the record that has it;
    ///   ``HabitStoreError/Code/invalidValue`` for NaN and infinities.
    func insert<M: PersistentModel>(_ model: M) throws

    /// Stores many new records, with the same outcome as ``insert(_:)`` for each in order, but faster, since an engine may write them in the order that
    /// suits it.
    ///
    /// All of them are checked and encoded before the first is stored, up to 16 MiB or 262,144 records at a time, which bounds the memory of a load of
    /// any size.
    ///
    /// - Parameters:
    ///   - progress: gets the number of records taken so far now and then, and the total at the end; an error that it throws ends the insertion. It
    ///     must not use the transaction.
    /// - Throws: the error of ``insert(_:)`` for the first record, in order, that cannot be stored. The transaction is then undone: if the error is
    ///   caught inside it, everything after fails, and so does the commit.
    func insert<M: PersistentModel>(contentsOf models: [M], progress: (Int) throws -> Void) throws

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    ///
    /// A reference that is new or changed must lead to a record by the end of the transaction. So must one to a record that the
    /// transaction has deleted, unless the delete rule is ``DeleteRule/noAction``; otherwise the commit throws
    /// ``HabitStoreError/Code/danglingReference``.
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

    /// Forgets the history up to and including a token. Consumers that have not reached it get ``HabitStoreError/Code/historyExpired``.
    func pruneHistory(through token: HistoryToken) throws
}

extension WriteTransaction {
    /// Stores many new records; see the form with progress.
    public func insert<M: PersistentModel>(contentsOf models: [M]) throws {
        try insert(contentsOf: models) { _ in }
    }

    /// Stores many new records from a lazy sequence, 65,536 at a time; see the form for arrays.
    public func insert<M: PersistentModel>(
        contentsOf models: some Sequence<M>,
        progress: (Int) throws -> Void = { _ in }
    ) throws {
        var (gathered, done): ([M], Int) = ([], 0)
        func store() throws {
            try insert(contentsOf: gathered) { try progress(done + $0) }
            done += gathered.count
            gathered.removeAll(keepingCapacity: true)
        }
        for model in models {
            gathered.append(model)
            if gathered.count == 1 << 16 { try store() }
        }
        if !gathered.isEmpty || done == 0 { try store() }
    }

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
