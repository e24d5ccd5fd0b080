import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The write transaction of a store on a server. Changes are deferred, and sent along with the next query or with the commit.
@_spi(Engines) public final class PostgresWriter: PostgresSnapshot, EngineWriter {
    struct RecordKey: Hashable {
        let entity: Int16
        let id: UUID
    }

    struct EntryKey: Hashable {
        let number: Int16
        let key: [UInt8]
    }

    private struct LeafKey: Hashable {
        let entity: Int16
        let first: UUID
    }

    /// The maximum number of deferred rows: sending this many takes less time than the wait for an answer, whatever the write.
    private static let mostPutOff = 20_000
    /// The maximum number of deferred bytes of records, not counting the last record: a statement is limited to a gigabyte.
    private static let mostPutOffBytes = 32 << 20

    private(set) lazy var indexKeys = IndexKeys(buffer)
    /// The record to store under each key; nil to remove it.
    private(set) var records: [RecordKey: [UInt8]?] = [:]
    private var entries: [EntryKey: UUID?] = [:]
    private var putOffBytes = 0
    private var digests: [LeafKey: DigestLeaf] = [:]
    private var history: [(key: HistoryKey, value: [UInt8])] = []
    /// The statements that must be sent in order.
    private var waiting: [PostgresCall] = []
    /// Whether a record exists, as far as it was queried or written.
    var isThere: [RecordKey: Bool] = [:]
    /// The record that was last queried, as long as it matches the server's.
    var looked: (key: RecordKey, answer: PostgresResult)?
    /// The queried digests of each entity, ascending.
    var leaves: [Int16: [DigestLeaf]] = [:]
    /// The entities of which all digests were queried.
    var knownLeaves: Set<Int16> = []
    /// The records with the values at the start of keys, for expected queries.
    var sharers: [EntryKey: [UUID]] = [:]
    /// The bookkeeping with this transaction's changes, and the keys that it changed.
    private var changed: PostgresBookkeeping?
    private var changedKeys: Set<String> = []
    /// The writer of another schema that has taken over.
    private var successor: PostgresWriter?
    private var token: Int64?
    /// The digests of the entities, after the first change of one.
    private var totals: [Int16: RecordDigest]?
    /// Whether this writer has changed anything.
    private var hasChanged = false

    /// Whether there is anything to commit.
    var hasChanges: Bool { hasChanged || successor?.hasChanges ?? false }

    override var knownBookkeeping: PostgresBookkeeping? { changed ?? super.knownBookkeeping }

    // MARK: Deferred changes

    override func ask(_ calls: [PostgresCall]) throws -> [PostgresResult] {
        let before = flushed()
        return Array(try session.ask(before + calls).dropFirst(before.count))
    }

    /// The statements for the deferred changes, which are no longer deferred.
    private func flushed() -> [PostgresCall] {
        let store = PostgresValue.uuid(catalog.store)
        var calls = waiting
        waiting.removeAll()
        for (key, body) in records where body == nil {
            calls.append(PostgresCall(.removeRecord, store, .int2(key.entity), .uuid(key.id)))
        }
        let put = records.compactMap { key, body in body.map { (key, $0) } }
        if !put.isEmpty {
            let (entities, ids) = (put.map(\.0.entity), put.map(\.0.id))
            calls.append(PostgresCall(.putRecords, store, .int2s(entities), .uuids(ids), .byteLists(put.map(\.1))))
        }
        for (entry, id) in entries where id == nil {
            calls.append(PostgresCall(.removeKey, store, .int2(entry.number), .bytes(entry.key)))
        }
        let putKeys = entries.compactMap { key, id in id.map { (key, $0) } }
        if !putKeys.isEmpty {
            let (numbers, keys) = (putKeys.map(\.0.number), putKeys.map(\.0.key))
            calls.append(PostgresCall(.putKeys, store, .int2s(numbers), .byteLists(keys), .uuids(putKeys.map(\.1))))
        }
        if !history.isEmpty {
            let tokens = history.map(\.key.token)
            let sequences = history.map { Int32(bitPattern: UInt32(truncatingIfNeeded: $0.key.sequence)) }
            calls.append(
                PostgresCall(.appendHistory, store, .int8s(tokens), .int4s(sequences), .byteLists(history.map(\.value)))
            )
        }
        if !digests.isEmpty {
            let (entities, firsts) = (digests.keys.map(\.entity), digests.keys.map(\.first))
            let bodies = digests.values.map { DigestCoder.value($0) }
            calls.append(PostgresCall(.putDigests, store, .int2s(entities), .uuids(firsts), .byteLists(bodies)))
        }
        records.removeAll()
        putOffBytes = 0
        entries.removeAll()
        history.removeAll()
        digests.removeAll()
        return calls
    }

    /// The statements that end the write.
    ///
    /// - Parameter write: the name of the write, which can later be used to find out if it was committed.
    func ending(_ write: UUID) throws -> [PostgresCall] {
        if let successor { return try flushed() + successor.ending(write) }
        guard let head = try session.begun() else {
            throw PostgresError.error(
                .internalInconsistency,
                "a store is written to that is not there",
                at: catalog.place
            )
        }
        let store = PostgresValue.uuid(catalog.store)
        var calls = flushed()
        if let metadata = changed?.metadata {
            let gone = changedKeys.filter { metadata[$0] == nil }.sorted()
            let put = changedKeys.filter { metadata[$0] != nil }.sorted()
            if !gone.isEmpty { calls.append(PostgresCall(.removeMetadata, store, .texts(gone))) }
            if !put.isEmpty {
                calls.append(PostgresCall(.putMetadata, store, .texts(put), .texts(put.compactMap { metadata[$0] })))
            }
        }
        let meta = changedKeys.isEmpty ? head.meta : head.version + 1
        let metaSum = changed.map { PostgresTotals.sum(of: $0.metadata) }
        calls.append(
            PostgresCall(
                .advance,
                store,
                .int8(head.version),
                .bytes(write.byteList),
                .int8(meta),
                .int8(token ?? head.token),
                .bytes(totals.map(PostgresTotals.bytes) ?? head.digests),
                .bytes(metaSum ?? head.metaSum)
            )
        )
        return calls
    }

    /// The bookkeeping that the next transaction can use after this one is committed; nil if it must query it.
    var committedBookkeeping: PostgresBookkeeping? {
        // The bookkeeping of another schema belongs to another catalog.
        successor == nil ? knownBookkeeping : nil
    }

    // MARK: Making stores

    /// Assigns numbers to the entities and indexes that the store lacks, and marks all of its indexes as complete.
    func describe() throws {
        for (key, number) in PostgresNumbers.missing(catalog.keys, in: try bookkeeping()?.metadata ?? [:]) {
            try setMetadata(key, number)
        }
        try setMetadata(KeyFormat.indexesKey, String(decoding: catalog.keys.indexList, as: UTF8.self))
    }

    /// Builds the indexes that an older schema did not declare, and empties those that this one no longer declares.
    func completeIndexes() throws {
        let listed = try bookkeeping()?.metadata[KeyFormat.indexesKey] ?? ""
        var text = listed
        let names = Set(text.withUTF8 { KeyFormat.indexNames(UnsafeRawBufferPointer($0)) }.keys)
        let missing = catalog.keys.indexes.filter { !names.contains($0.name) }
        let abandoned = try names.subtracting(catalog.keys.indexNames).compactMap { name in
            try bookkeeping()?.metadata[PostgresNumbers.index(name)].flatMap { Int16($0) }
        }
        try describe()
        let emptied = try abandoned + missing.map { try number($0) }
        waiting += flushed() + [PostgresCall(.removeIndexes, .uuid(catalog.store), .int2s(emptied))]
        for table in catalog.keys.tables {
            let built = table.indexes.filter { index in missing.contains { $0 === index } }
            if !built.isEmpty { try build(built, table) }
        }
    }

    private func build(_ indexes: [KeyIndex], _ table: KeyTable) throws {
        let walk = try PostgresWalk(self, .records, table.number, [.all], reverse: false)
        while let row = try walk.next() {
            let record = try view(table.number, row.id, row.body)
            try withUnsafeBytes(of: row.id.uuid) { id in
                for index in indexes { try addKeys(index, record, id) }
            }
            if entries.count >= Self.mostPutOff { _ = try ask([]) }
        }
    }

    /// The writer of another schema in the same transaction, with some entities emptied. This one must not be used any more.
    func reshaped(to catalog: PostgresCatalog, rewriting names: Set<String>) throws -> PostgresWriter {
        let kept = Set(catalog.keys.tables.map(\.name)).subtracting(names)
        let metadata = try bookkeeping()?.metadata ?? [:]
        let tables = (self.catalog.keys.tables + catalog.keys.tables).filter { !kept.contains($0.name) }
        func numbers(_ keys: [String]) -> [Int16] { Set(keys).compactMap { metadata[$0].flatMap { Int16($0) } } }
        let store = PostgresValue.uuid(catalog.store)
        waiting +=
            flushed() + [
                PostgresCall(.removeEntity, store, .int2s(numbers(tables.map { PostgresNumbers.entity($0.name) }))),
                PostgresCall(
                    .removeIndexes,
                    store,
                    .int2s(numbers(tables.flatMap { $0.indexes.map { PostgresNumbers.index($0.name) } }))
                ),
            ]
        let writer = PostgresWriter(session, catalog)
        writer.changed = try PostgresBookkeeping(version: changed?.version ?? 0, metadata: metadata, catalog)
        (writer.changedKeys, writer.token, writer.totals, writer.waiting) = (changedKeys, token, totals, waiting)
        waiting.removeAll()
        hasChanged = true
        successor = writer
        try writer.describe()
        return writer
    }

    // MARK: Records

    /// Lends the record with an identifier to `body`; nil if there is none.
    ///
    /// A record that is read in a write will probably be written, so the digest that covers it is fetched too.
    public override func withRow<R>(
        entity: Int,
        id: UUID,
        _ body: (inout AttributeReader) throws -> R
    ) throws -> R? {
        let key = RecordKey(entity: try number(entity), id: id)
        if isThere[key] == false { return nil }
        if let put = records[key], let bytes = put {
            return try bytes.withUnsafeBytes { bytes in
                var row = try view(entity, id, bytes).reader
                return try body(&row)
            }
        }
        return try lend(try look(key), entity, id, body)
    }

    /// Whether there is a record with an identifier. An expected reference needs no further query.
    public override func contains(entity: Int, id: UUID) throws -> Bool {
        try isThere[RecordKey(entity: number(entity), id: id)] ?? (withRow(entity: entity, id: id) { _ in true } != nil)
    }

    /// Queries a record and the digest that covers it.
    private func look(_ key: RecordKey) throws -> PostgresResult {
        if let looked, looked.key == key { return looked.answer }
        return try answers(to: looking(key))[0]
    }

    /// Stores a record under an identifier that is not in use.
    ///
    /// - Returns: false if there is a record already; nothing is changed then.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        let key = RecordKey(entity: try number(entity), id: id)
        if isThere[key] == nil { _ = try look(key) }
        guard isThere[key] == false else { return false }
        try put(record, entity, key)
        try withUnsafeBytes(of: id.uuid) { id in
            for index in catalog.keys.tables[entity].indexes { try addKeys(index, record, id) }
        }
        return true
    }

    /// Stores the records of a batch under identifiers that are not in use.
    ///
    /// - Returns: the place of the first record whose identifier is taken; nil if all were stored.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        let number = try number(entity)
        let ids = (0..<batch.count).map { batch.identifier(at: $0) }
        _ = try answers(to: looking(number, ids) + lookingForLeaves(number))
        if let taken = ids.firstIndex(where: { isThere[RecordKey(entity: number, id: $0)] == true }) { return taken }
        for place in 0..<batch.count {
            let (record, id) = (batch[place], batch.identifierBytes(at: place))
            try put(record, entity, RecordKey(entity: number, id: ids[place]))
            for index in catalog.keys.tables[entity].indexes { try addKeys(index, record, id) }
        }
        return nil
    }

    /// Replaces a record; `old` is the stored one.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try withUnsafeBytes(of: id.uuid) { bytes in
            for index in catalog.keys.tables[entity].indexes {
                let number = try number(index)
                try indexKeys.forEachChange(index, record, replacing: old, bytes, copies: false) { key in
                    remove(key, number, id)
                } put: { key in
                    put(key, number, id)
                }
            }
        }
        try put(record, entity, RecordKey(entity: try number(entity), id: id))
    }

    /// Removes a record; `old` is the stored one.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try withUnsafeBytes(of: id.uuid) { bytes in
            for index in catalog.keys.tables[entity].indexes {
                let number = try number(index)
                try indexKeys.forEach(index, old, bytes) { remove($0, number, id) }
            }
        }
        let key = RecordKey(entity: try number(entity), id: id)
        records[key] = .some(nil)
        isThere[key] = false
        if looked?.key == key { looked = nil }
        hasChanged = true
    }

    private func put(_ record: RecordView, _ entity: Int, _ key: RecordKey) throws {
        guard try record.identifier() == key.id else {
            throw HabitStoreError(
                .internalInconsistency,
                "a record was to be stored under an identifier other than its own",
                at: .init(path: catalog.place, entity: catalog.keys.tables[entity].name, id: key.id)
            )
        }
        records[key] = Array(record.bytes)
        putOffBytes += record.bytes.count
        isThere[key] = true
        if looked?.key == key { looked = nil }
        hasChanged = true
        if records.count + entries.count + history.count >= Self.mostPutOff || putOffBytes >= Self.mostPutOffBytes {
            _ = try ask([])
        }
    }

    func addKeys(_ index: KeyIndex, _ record: RecordView, _ id: UnsafeRawBufferPointer) throws {
        let number = try number(index)
        let owner = id.loadUnaligned(as: UUID.self)
        try indexKeys.forEach(index, record, id) { put($0, number, owner) }
    }

    private func put(_ key: UnsafeRawBufferPointer, _ number: Int16, _ id: UUID) {
        entries[EntryKey(number: number, key: Array(key))] = id
        guard !sharers.isEmpty else { return }
        let values = EntryKey(number: number, key: Array(key.dropLast(KeyFormat.identifierLength)))
        guard let known = sharers[values] else { return }
        let place = known.partitioningIndex { !$0.isBefore(id) }
        if place == known.count || known[place] != id { sharers[values]?.insert(id, at: place) }
    }

    private func remove(_ key: UnsafeRawBufferPointer, _ number: Int16, _ id: UUID) {
        entries[EntryKey(number: number, key: Array(key))] = .some(nil)
        guard !sharers.isEmpty else { return }
        sharers[EntryKey(number: number, key: Array(key.dropLast(KeyFormat.identifierLength)))]?.removeAll { $0 == id }
    }

    // MARK: Bookkeeping

    /// Sets or removes a value of the store's own bookkeeping.
    public func setMetadata(_ key: String, _ value: String?) throws {
        guard try self.metadata(key) != value else { return }
        var metadata = try bookkeeping()?.metadata ?? [:]
        metadata[key] = value
        changed = try PostgresBookkeeping(version: (session.begun()?.version ?? 0) + 1, metadata: metadata, catalog)
        changedKeys.insert(key)
        hasChanged = true
    }

    /// The number of the last history transaction; 0 if there is none.
    public override func lastToken() throws -> Int64 { try token ?? super.lastToken() }

    /// Appends to the history. Tokens must be ascending.
    public func append(_ transaction: HistoryTransaction) throws {
        let token = transaction.token.rawValue
        guard token > 0, transaction.changes.count < Int(UInt32.max) else {
            throw PostgresError.error(
                .limitExceeded,
                "a history transaction has an impossible number or size",
                at: catalog.place
            )
        }
        history.append((HistoryKey(token: token, sequence: 0), HistoryCoder.header(transaction)))
        for (place, change) in transaction.changes.enumerated() {
            var value: [UInt8] = []
            try HistoryCoder.encode(change, into: &value)
            history.append((HistoryKey(token: token, sequence: UInt64(place) + 1), value))
            if history.count >= Self.mostPutOff { _ = try ask([]) }
        }
        self.token = token
        hasChanged = true
    }

    /// Removes the history up to and including a token.
    public func pruneHistory(through token: Int64) throws {
        waiting += flushed() + [PostgresCall(.pruneHistory, .uuid(catalog.store), .int8(token))]
        if try lastToken() <= token { self.token = 0 }
        hasChanged = true
    }

    // MARK: Evidence

    /// Adds lines of a rollout's evidence.
    public func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws {
        let store = PostgresValue.uuid(catalog.store)
        waiting += flushed()
        if let number { waiting.append(PostgresCall(.removeEvidence, store, .int8(number))) }
        waiting.append(PostgresCall(.addEvidence, store, .int8s(rows.map(\.number)), .byteLists(rows.map(\.line))))
        hasChanged = true
    }

    // MARK: Digests

    /// The stored digest whose range contains an identifier.
    public override func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        let number = try number(entity)
        if let leaf = knownLeaf(number, covering: id) { return leaf }
        guard let leaf = try super.digestLeaf(entity: entity, covering: id) else {
            // Every entity with a total has digests. Without them, later writes would never be compared again.
            guard try knownTotals()[number] == nil else { throw DigestCoder.damaged(catalog.place) }
            return nil
        }
        remember(leaf, number)
        return leaf
    }

    func knownLeaf(_ entity: Int16, covering id: UUID) -> DigestLeaf? {
        guard let known = leaves[entity] else { return nil }
        let behind = known.partitioningIndex { id.isBefore($0.first) }
        guard behind > 0, known[behind - 1].range.contains(id) else { return nil }
        return known[behind - 1]
    }

    /// The current digests of the entities.
    private func knownTotals() throws -> [Int16: RecordDigest] {
        try totals ?? session.begun().map { try PostgresTotals.digests($0.digests, place: catalog.place) } ?? [:]
    }

    func remember(_ leaf: DigestLeaf, _ entity: Int16) {
        var known = leaves[entity] ?? []
        let place = known.partitioningIndex { !$0.first.isBefore(leaf.first) }
        if place < known.count, known[place].first == leaf.first {
            known[place] = leaf
        } else {
            known.insert(leaf, at: place)
        }
        leaves[entity] = known
    }

    /// Stores a digest. Replaces one with the same first identifier.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        let number = try number(entity)
        digests[LeafKey(entity: number, first: leaf.first)] = leaf
        var totals = try knownTotals()
        var total = totals[number] ?? RecordDigest()
        total += leaf.digest
        // A divided digest is replaced by the first of its parts; the other parts are new.
        if let old = knownLeaf(number, covering: leaf.first), old.first == leaf.first { total -= old.digest }
        totals[number] = total
        self.totals = totals
        remember(leaf, number)
        hasChanged = true
    }

    /// Removes all stored digests of an entity.
    public func removeDigestLeaves(entity: Int) throws {
        let number = try number(entity)
        waiting += flushed() + [PostgresCall(.removeDigests, .uuid(catalog.store), .int2(number))]
        leaves[number] = []
        var totals = try knownTotals()
        totals[number] = nil
        self.totals = totals
        hasChanged = true
    }
}
