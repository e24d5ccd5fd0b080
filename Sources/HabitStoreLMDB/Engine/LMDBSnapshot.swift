import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A consistent view of an LMDB file at one moment.
///
/// Records are read in place from the map. Each is verified by its checksum and its key when it is read.
@_spi(Engines) public class LMDBSnapshot: EngineSnapshot {
    let transaction: LMDBTransaction
    let catalog: LMDBCatalog
    /// LMDB's number of the snapshot, which each commit increases; nil inside a write.
    public let moment: UInt64?
    package let buffer = IndexKeyBuffer()
    /// How often keys were counted to choose between plans.
    package internal(set) var keyCounts = 0
    package let completeIndexes: CompleteIndexes
    #if PLANNER_MUTANTS
    package internal(set) var mutant: KeyPlannerMutant?
    #endif

    init(_ transaction: LMDBTransaction, _ catalog: LMDBCatalog) throws {
        self.transaction = transaction
        self.catalog = catalog
        moment = transaction.isWritable ? nil : try transaction.identifier()
        guard moment.map({ $0 != catalog.completeMoment.load(ordering: .relaxed) }) ?? true else {
            completeIndexes = .all
            return
        }
        let listed = try KeyFormat.indexesKey.withKeyBytes { try transaction.get(catalog.metadata, $0) }
        completeIndexes = CompleteIndexes(listed, catalog.keys)
        if let moment, completeIndexes.isAll { catalog.completeMoment.store(moment, ordering: .relaxed) }
    }

    /// Whether every index of the schema is complete, and the file has no other indexes to maintain.
    var hasAllIndexes: Bool { completeIndexes.hasAll(of: catalog.keys) }

    package func isComplete(_ index: KeyIndex) -> Bool {
        catalog.hasDatabase(index) && completeIndexes.contains(index)
    }

    /// Whether an index contains copies of records.
    @inline(__always)
    func holdsCopies(_ index: KeyIndex) -> Bool { completeIndexes.holdCopies(index) }

    // MARK: Bookkeeping

    /// Whether the store declares all of its text to be in NFC. Stores of the first versions do not.
    func textIsCanonical() throws -> Bool { try metadata(MetadataKey.textForm) == MetadataKey.nfc }

    /// A value of the store's own bookkeeping, or nil.
    public func metadata(_ key: String) throws -> String? {
        guard let bytes = try key.withKeyBytes({ try transaction.get(catalog.metadata, $0) }) else { return nil }
        guard let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw LMDBError.error(
                .corrupt,
                "the store's bookkeeping holds a value that is not text",
                path: catalog.path
            )
        }
        return text
    }

    // MARK: Records

    /// Lends the record with an identifier to `body`; nil if there is none.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        let found = try withUnsafeBytes(of: id.uuid) { try self.row(catalog.tables[entity], $0) }
        guard var reader = found?.reader else { return nil }
        return try body(&reader)
    }

    /// The record of a key; nil if there is none.
    func row(_ table: KeyTable, _ key: UnsafeRawBufferPointer) throws -> RecordView? {
        guard let value = try transaction.get(catalog.records(table), key) else { return nil }
        return try view(table, key, value)
    }

    /// A record, after verifying its checksum and its identifier.
    @inline(__always)
    func view(
        _ table: KeyTable,
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) throws -> RecordView {
        try Self.view(LMDBRecord(key: key, value: value), entity: table.name, table.layout, path: catalog.path)
    }

    /// A record of an entity, after verifying its checksum and its identifier.
    @inline(__always)
    static func view(
        _ record: LMDBRecord,
        entity: @autoclosure () -> String,
        _ layout: RecordLayout,
        path: @autoclosure () -> String
    ) throws -> RecordView {
        let (key, value) = (record.key, record.value)
        let view: RecordView
        do {
            view = try RecordView(validating: value, layout: layout)
        } catch let error as HabitStoreError {
            throw at(error, error.message, entity(), key, path())
        }
        // The identifier is the first attribute, so its slot is inside the verified bytes.
        let offset = layout.firstSlot
        guard key.count == KeyFormat.identifierLength,
            key.loadUnaligned(as: UInt64.self) == value.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
            key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                == value.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
        else {
            throw HabitStoreError.damage(
                "a record is stored under an identifier other than its own",
                at: .init(path: path(), entity: entity(), id: UUID(key: key))
            )
        }
        return view
    }

    /// A copy of a record in an index, after verifying its checksum and its identifier.
    @inline(__always)
    func view(
        _ table: KeyTable,
        _ id: UnsafeRawBufferPointer,
        _ copy: UnsafeRawBufferPointer,
        of index: KeyIndex
    ) throws -> RecordView {
        do {
            return try view(table, id, copy)
        } catch let error as HabitStoreError {
            throw Self.at(error, "the copy in the index \(index.title): \(error.message)", table.name, id, catalog.path)
        }
    }

    /// The error of a record, with its location.
    private static func at(
        _ error: HabitStoreError,
        _ message: String,
        _ entity: String,
        _ key: UnsafeRawBufferPointer,
        _ path: String
    ) -> HabitStoreError {
        HabitStoreError(
            error.code,
            message,
            at: .init(path: path, entity: entity, id: UUID(key: key)),
            isDamage: error.isDamage
        )
    }

    // MARK: Queries

    /// How the engine would execute a query.
    public func plan(_ query: BoundQuery) throws -> KeyPlan { try planned(query) }

    /// The number of an entity's records, as stored in its tree.
    public func recordCountAtHand(entity: Int) -> Int? {
        try? transaction.count(catalog.records(catalog.tables[entity]))
    }

    /// The number of records of a plan whose filter is exact, without decoding them. Ignores the plan's window.
    public func count(_ plan: KeyPlan) throws -> Int {
        guard let database = try database(plan.access, plan.entity) else { return 0 }
        if plan.ranges.count == 1, plan.ranges[0].isAll { return try transaction.count(database) }
        var count = 0
        try LMDBRangeWalk(transaction.cursor(database)).forEach(plan.ranges, reverse: false) { _ in
            count += 1
            return true
        }
        return count
    }

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        try identifiersByKeys(entity: entity, attribute: attribute, equalTo: value, limit: limit)
    }

    func malformedKey(_ index: KeyIndex) -> HabitStoreError {
        LMDBError.error(.corrupt, "the index \(index.title) holds a key that is none", path: catalog.path)
    }
}

extension String {
    /// Lends the text's bytes as a key.
    func withKeyBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        var text = self
        return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}

/// The planner's view of the snapshot.
extension LMDBSnapshot: KeySnapshot {
    package var schema: Schema { catalog.schema }
    package var keyTables: KeyTables { catalog.keys }
    package var plans: KeyPlanCache { catalog.plans }
    package var isWritable: Bool { transaction.isWritable }
    /// In a write transaction, records may be deleted before the walk reaches them.
    package var readsRecordsLater: Bool { !transaction.isWritable }
}

/// Information that keys provide without their records.
@_spi(Engines) extension LMDBSnapshot {
    /// The maximum number of keys that are counted one by one.
    private static let mostCounted = 10_000

    /// The database of an access path; nil if it has none.
    func database(_ access: KeyPlan.Access, _ entity: Int) throws -> LMDBDatabase? {
        let table = catalog.tables[entity]
        switch access {
        case .nothing: return nil
        case .records: return try catalog.records(table)
        case .index(let place): return try catalog.database(table.indexes[place])
        }
    }

    /// The number of keys in ranges, of which at most `most` are counted one by one.
    package func countKeys(_ access: KeyPlan.Access, _ ranges: [KeyRange], _ entity: Int, upTo most: Int) throws -> Int
    {
        keyCounts += 1
        guard let database = try database(access, entity) else { return 0 }
        if ranges.count == 1, ranges[0].isAll { return try transaction.count(database) }
        guard most < Int.max else { return try min(transaction.count(database), estimate(database, ranges)) }
        var count = 0
        try LMDBRangeWalk(transaction.cursor(database)).forEach(ranges, reverse: false) { _ in
            count += 1
            return count < most
        }
        return count
    }

    /// The approximate number of keys that a plan reaches: up to ten thousand are counted, and the rest is estimated from the part
    /// of the range that they cover.
    public func estimatedRows(_ plan: KeyPlan) throws -> Int? {
        guard let database = try database(plan.access, plan.entity) else { return 0 }
        let total = try transaction.count(database)
        if plan.ranges.count == 1, plan.ranges[0].isAll { return total }
        return min(total, try estimate(database, plan.ranges))
    }

    private func estimate(_ database: LMDBDatabase, _ ranges: [KeyRange]) throws -> Int {
        let cursor = try transaction.cursor(database)
        var count = 0
        for (place, range) in ranges.enumerated() {
            let before = count
            var first: [UInt8] = []
            var reached: [UInt8] = []
            try LMDBRangeWalk(cursor).forEach([range], reverse: false) { record in
                if count == before { first = Array(record.key) }
                count += 1
                guard count < Self.mostCounted else {
                    reached = Array(record.key)
                    return false
                }
                return true
            }
            guard count >= Self.mostCounted else { continue }
            var last = reached
            try LMDBRangeWalk(cursor).forEach([range], reverse: true) { record in
                last = Array(record.key)
                return false
            }
            let inRange = Double(count - before) * max(1, Self.share(first, reached, last))
            // The remaining ranges are assumed to be like those before.
            let all = (Double(before) + inRange) / Double(place + 1) * Double(ranges.count)
            return Int(min(all, Double(Int32.max)))
        }
        return count
    }

    /// The distance from the first of three keys to the last, as a multiple of the distance from the first to the second.
    private static func share(_ first: [UInt8], _ second: [UInt8], _ last: [UInt8]) -> Double {
        let shared = zip(first, last).prefix { $0 == $1 }.count
        func number(_ key: [UInt8]) -> Double {
            key.dropFirst(shared).prefix(8).enumerated()
                .reduce(0) {
                    $0 + Double($1.element) / Double(sign: .plus, exponent: 8 * ($1.offset + 1), significand: 1)
                }
        }
        let (start, middle, end) = (number(first), number(second), number(last))
        return middle > start ? (end - start) / (middle - start) : 1
    }

    // MARK: Identifiers

    /// The identifier at the end of a key.
    @inline(__always)
    func identifier(endOf key: UnsafeRawBufferPointer) throws -> UUID {
        let start = key.count - KeyFormat.identifierLength
        guard start >= 0 else {
            throw LMDBError.error(.corrupt, "a key is too short for an identifier", path: catalog.path)
        }
        return UUID(uuid: key.loadUnaligned(fromByteOffset: start, as: uuid_t.self))
    }

    /// The identifiers at the end of the keys in ranges, in key order, without reading a record.
    package func identifiers(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        atMost most: Int
    ) throws -> [UUID] {
        guard most > 0, let database = try database(access, entity) else { return [] }
        var ids: [UUID] = []
        try LMDBRangeWalk(transaction.cursor(database)).forEach(ranges, reverse: false) { record in
            ids.append(try identifier(endOf: record.key))
            return ids.count < most
        }
        return ids
    }

    /// The distinct references or links at the start of an index's keys, ascending; nil if there are too many. Skips the keys
    /// between.
    package func firstIdentifiers(in index: KeyIndex, of entity: Int, atMost most: Int) throws -> [UUID]? {
        let cursor = try transaction.cursor(catalog.database(index))
        let length = 1 + KeyFormat.identifierLength
        var ids: [UUID] = []
        var next: [UInt8]? = [1]
        while let lower = next, let record = try cursor.seek(lower) {
            guard record.key.count >= length else { throw malformedKey(index) }
            guard ids.count < most else { return nil }
            ids.append(UUID(uuid: record.key.loadUnaligned(fromByteOffset: 1, as: uuid_t.self)))
            next = KeyOrder.successor(ofPrefix: Array(record.key.prefix(length)))
        }
        return ids
    }
}

@_spi(Engines) extension LMDBSnapshot {
    /// The records of an entity in a range of identifiers, decoded by a reader that no other part shares.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        let cursor = try transaction.cursor(catalog.records(catalog.tables[entity]))
        var isBegun = range == .all
        return RecordAudit(catalog.schema.entities[entity], range, path: catalog.path) {
            if isBegun { return try cursor.next().map { ($0.key, $0.value) } }
            isBegun = true
            return try withUnsafeBytes(of: range.first.uuid) { try cursor.seek($0) }.map { ($0.key, $0.value) }
        }
    }
}
