import Foundation
@_spi(Engines) import HabitStore

/// The write transaction of an LMDB file: records, and the index keys that follow from them.
@_spi(Engines) public final class LMDBWriter: LMDBSnapshot, EngineWriter {
    /// The keys of the record that is replaced, beside those of the new one.
    private let oldKey = LMDBIndexKeyBuffer()
    private let nothing = UnsafeRawBufferPointer(start: nil, count: 0)

    // MARK: Records

    /// Stores a record under an identifier that has none yet.
    ///
    /// - Returns: false, and nothing is changed, when there is one.
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

    /// Replaces a record; `old` is what is stored.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        let table = catalog.tables[entity]
        try requireIdentifier(record, id, table)
        try withUnsafeBytes(of: id.uuid) { id in
            // The index keys first: `old` may lie in the page that the new record is written to.
            for index in table.indexes { try replaceKeys(index, record, old, id) }
            _ = try transaction.put(catalog.records(table), id, record.bytes)
        }
    }

    /// Removes a record; `old` is what is stored.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        let table = catalog.tables[entity]
        try withUnsafeBytes(of: id.uuid) { id in
            for index in table.indexes { try removeKeys(index, old, id) }
            _ = try transaction.delete(catalog.records(table), id)
        }
    }

    private func requireIdentifier(_ record: RecordView, _ id: UUID, _ table: LMDBCatalog.Table) throws {
        guard try record.identifier() == id else {
            throw HabitStoreError(
                .internalInconsistency,
                "a record was to be stored under another identifier than its own",
                at: .init(path: catalog.path, entity: table.name, id: id)
            )
        }
    }

    // MARK: Index keys

    /// - Parameter copies: whether the index holds copies of records.
    func addKeys(
        _ index: LMDBCatalog.Index,
        _ record: RecordView,
        _ id: UnsafeRawBufferPointer,
        copies: Bool
    ) throws {
        let database = try catalog.database(index)
        guard let links = try LMDBLinks(index, record) else {
            try buffer.make(index.layout, record, id: id)
            try transaction.put(database, buffer.key, copies ? LMDBFormat.copy(of: record) : nothing)
            return
        }
        for place in 0..<links.count {
            try buffer.make(index.layout, record, link: links[place], id: id)
            try transaction.put(database, buffer.key, nothing)
        }
    }

    private func removeKeys(_ index: LMDBCatalog.Index, _ record: RecordView, _ id: UnsafeRawBufferPointer) throws {
        let database = try catalog.database(index)
        guard let links = try LMDBLinks(index, record) else {
            try buffer.make(index.layout, record, id: id)
            try transaction.delete(database, buffer.key)
            return
        }
        for place in 0..<links.count {
            try buffer.make(index.layout, record, link: links[place], id: id)
            try transaction.delete(database, buffer.key)
        }
    }

    /// Only the keys that differ are touched, and in an index with copies the copy.
    private func replaceKeys(
        _ index: LMDBCatalog.Index,
        _ record: RecordView,
        _ old: RecordView,
        _ id: UnsafeRawBufferPointer
    ) throws {
        let isUnchanged = try index.layout.parts.allSatisfy { part in
            try record.isNull(at: part.position) == old.isNull(at: part.position)
                && record.rawBytes(at: part.position).elementsEqual(old.rawBytes(at: part.position))
        }
        let copies = holdsCopies(index)
        if isUnchanged, !copies { return }
        let database = try catalog.database(index)
        guard let links = try LMDBLinks(index, record), let oldLinks = try LMDBLinks(index, old) else {
            try buffer.make(index.layout, record, id: id)
            try oldKey.make(index.layout, old, id: id)
            // Texts that differ behind the cut have the same key.
            let isMoved = !buffer.key.elementsEqual(oldKey.key)
            guard isMoved || copies else { return }
            if isMoved { try transaction.delete(database, oldKey.key) }
            try transaction.put(database, buffer.key, copies ? LMDBFormat.copy(of: record) : nothing)
            return
        }
        var kept: Set<[UInt8]> = []
        for place in 0..<links.count {
            try buffer.make(index.layout, record, link: links[place], id: id)
            kept.insert(Array(buffer.key))
        }
        for place in 0..<oldLinks.count {
            try oldKey.make(index.layout, old, link: oldLinks[place], id: id)
            guard kept.remove(Array(oldKey.key)) == nil else { continue }
            try transaction.delete(database, oldKey.key)
        }
        for key in kept { _ = try key.withUnsafeBytes { try transaction.put(database, $0, nothing) } }
    }

    // MARK: Bookkeeping

    /// Sets a value of the store's own bookkeeping, or removes it.
    public func setMetadata(_ key: String, _ value: String?) throws {
        guard var value else {
            _ = try key.withKeyBytes { try transaction.delete(catalog.metadata, $0) }
            return
        }
        try key.withKeyBytes { key in
            _ = try value.withUTF8 { try transaction.put(catalog.metadata, key, UnsafeRawBufferPointer($0)) }
        }
    }

    /// Appends to the history. Tokens arrive ascending.
    public func append(_ transaction: HistoryTransaction) throws {
        try LMDBHistory(self.transaction, catalog).append(transaction)
    }

    /// Forgets the history up to and including a number.
    public func pruneHistory(through token: Int64) throws {
        try LMDBHistory(transaction, catalog).prune(through: token)
    }
}

/// The links of a record that each have a key of their own in an index.
struct LMDBLinks {
    private let bytes: UnsafeRawBufferPointer

    /// Nil when the index is not over links.
    @inline(__always)
    init?(_ index: LMDBCatalog.Index, _ record: RecordView) throws {
        guard let position = index.layout.linksPosition else { return nil }
        bytes = try record.rawBytes(at: position)
        guard bytes.count % LMDBFormat.identifierLength == 0 else {
            throw HabitStoreError.damage("a record holds links that are no identifiers; run `habitstore check`")
        }
    }

    var count: Int { bytes.count / LMDBFormat.identifierLength }

    subscript(place: Int) -> UnsafeRawBufferPointer {
        let start = place * LMDBFormat.identifierLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + LMDBFormat.identifierLength])
    }
}
