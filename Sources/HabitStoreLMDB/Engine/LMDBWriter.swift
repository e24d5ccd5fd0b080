import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The write transaction of an LMDB file: writes records and their index keys.
@_spi(Engines) public final class LMDBWriter: LMDBSnapshot, EngineWriter {
    private(set) lazy var indexKeys = IndexKeys(buffer)
    private let nothing = UnsafeRawBufferPointer(start: nil, count: 0)

    // MARK: Records

    /// Stores a record under an identifier that is not in use.
    ///
    /// - Returns: false if there is a record already; nothing is changed then.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        let table = catalog.tables[entity]
        try requireIdentifier(record, id, table)
        return try withUnsafeBytes(of: id.uuid) { id in
            guard try transaction.put(catalog.records(table), id, record.bytes, mode: .noOverwrite) else {
                return false
            }
            for index in table.indexes { try addKeys(index, record, id, copies: holdsCopies(index)) }
            return true
        }
    }

    /// Replaces a record; `old` is the stored one.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        let table = catalog.tables[entity]
        try requireIdentifier(record, id, table)
        try withUnsafeBytes(of: id.uuid) { id in
            // Index keys first: `old` may be in the page that the new record is written to.
            for index in table.indexes { try replaceKeys(index, record, old, id) }
            _ = try transaction.put(catalog.records(table), id, record.bytes)
        }
    }

    /// Removes a record; `old` is the stored one.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        let table = catalog.tables[entity]
        try withUnsafeBytes(of: id.uuid) { id in
            for index in table.indexes { try removeKeys(index, old, id) }
            _ = try transaction.delete(catalog.records(table), id)
        }
    }

    private func requireIdentifier(_ record: RecordView, _ id: UUID, _ table: KeyTable) throws {
        guard try record.identifier() == id else {
            throw HabitStoreError(
                .internalInconsistency,
                "a record was to be stored under an identifier other than its own",
                at: .init(path: catalog.path, entity: table.name, id: id)
            )
        }
    }

    // MARK: Index keys

    /// - Parameter copies: whether the index contains copies of records.
    func addKeys(
        _ index: KeyIndex,
        _ record: RecordView,
        _ id: UnsafeRawBufferPointer,
        copies: Bool
    ) throws {
        let database = try catalog.database(index)
        // An index over links has as many keys for a record as it has links, and never contains copies.
        let copy = copies && index.layout.linksPosition == nil ? KeyFormat.copy(of: record) : nothing
        try indexKeys.forEach(index, record, id) { _ = try transaction.put(database, $0, copy) }
    }

    private func removeKeys(_ index: KeyIndex, _ record: RecordView, _ id: UnsafeRawBufferPointer) throws {
        let database = try catalog.database(index)
        try indexKeys.forEach(index, record, id) { _ = try transaction.delete(database, $0) }
    }

    private func replaceKeys(
        _ index: KeyIndex,
        _ record: RecordView,
        _ old: RecordView,
        _ id: UnsafeRawBufferPointer
    ) throws {
        let copies = holdsCopies(index)
        let database = try catalog.database(index)
        let copy = copies && index.layout.linksPosition == nil ? KeyFormat.copy(of: record) : nothing
        try indexKeys.forEachChange(index, record, replacing: old, id, copies: copies) { key in
            _ = try transaction.delete(database, key)
        } put: { key in
            _ = try transaction.put(database, key, copy)
        }
    }

    // MARK: Bookkeeping

    /// Sets or removes a value of the store's own bookkeeping.
    public func setMetadata(_ key: String, _ value: String?) throws {
        guard var value else {
            _ = try key.withKeyBytes { try transaction.delete(catalog.metadata, $0) }
            return
        }
        try key.withKeyBytes { key in
            _ = try value.withUTF8 { try transaction.put(catalog.metadata, key, UnsafeRawBufferPointer($0)) }
        }
    }

    /// Appends to the history. Tokens must be ascending.
    public func append(_ transaction: HistoryTransaction) throws {
        try LMDBHistory(self.transaction, catalog).append(transaction)
    }

    /// Removes the history up to and including a token.
    public func pruneHistory(through token: Int64) throws {
        try LMDBHistory(transaction, catalog).prune(through: token)
    }
}

/// Inserting many records at a time. Each database is written in key order.
@_spi(Engines) extension LMDBWriter {
    /// Stores the records of a batch under identifiers that are not in use.
    ///
    /// - Returns: the place of the first record whose identifier is taken; nil if all were stored.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        let table = catalog.tables[entity]
        let taken = try LMDBAscendingPuts.run(transaction, catalog.records(table)) { puts in
            var taken: Int?
            for place in batch.placesByIdentifier
            where try !puts.put(batch.identifierBytes(at: place), batch[place].bytes, mode: .noOverwrite) {
                taken = min(taken ?? Int.max, place)
            }
            return taken
        }
        if let taken { return taken }
        for index in table.indexes { try addKeys(index, batch) }
        return nil
    }

    private func addKeys(_ index: KeyIndex, _ batch: RecordBatch) throws {
        let keys = try indexKeys.keys(index, batch)
        let mayRepeat = index.layout.linksPosition != nil
        // An index over links has as many keys for a record as it has links, and never contains copies.
        let copies = holdsCopies(index) && !mayRepeat
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        try LMDBAscendingPuts.run(transaction, catalog.database(index)) { puts in
            var last: UnsafeRawBufferPointer?
            for place in keys.sortedPlaces() {
                let key = keys[place]
                if mayRepeat {
                    // A record with a repeated link has one key for it.
                    if let last, last.elementsEqual(key) { continue }
                    last = key
                }
                try puts.put(key, copies ? KeyFormat.copy(of: batch[place]) : nothing, mode: .upsert)
            }
        }
    }
}
