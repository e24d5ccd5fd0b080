import Foundation
@_spi(Engines) import HabitStore

/// A consistent view of one moment of an LMDB file.
///
/// Records are read where they lie in the map; each is checked against its checksum and its key when it is read.
@_spi(Engines) public class LMDBSnapshot: EngineSnapshot {
    let transaction: LMDBTransaction
    let catalog: LMDBCatalog
    /// LMDB's number of what is read, which each commit raises; nil inside of a write.
    public let moment: UInt64?
    let buffer = LMDBIndexKeyBuffer()
    /// How often keys were counted to choose between plans.
    var keyCounts = 0
    /// The names of the complete indexes, each with whether it holds copies of records; nil when all are complete and hold
    /// what they are declared to hold.
    private let completeIndexes: [String: Bool]?
    #if PLANNER_MUTANTS
    /// The bug that is planted; only tests plant any.
    var mutant: LMDBPlannerMutant?
    #endif

    init(_ transaction: LMDBTransaction, _ catalog: LMDBCatalog) throws {
        self.transaction = transaction
        self.catalog = catalog
        moment = transaction.isWritable ? nil : try transaction.identifier()
        guard moment.map({ $0 != catalog.completeMoment.load(ordering: .relaxed) }) ?? true else {
            completeIndexes = nil
            return
        }
        completeIndexes = try Self.completeIndexes(transaction, catalog)
        if let moment, completeIndexes == nil { catalog.completeMoment.store(moment, ordering: .relaxed) }
    }

    /// An index that was never built, or that another program's writes passed by, must not be used.
    private static func completeIndexes(
        _ transaction: LMDBTransaction,
        _ catalog: LMDBCatalog
    ) throws -> [String: Bool]? {
        let stored = try LMDBFormat.indexesKey.withKeyBytes { try transaction.get(catalog.metadata, $0) }
        guard let stored else { return [:] }
        guard stored.count == catalog.indexList.count else { return LMDBFormat.indexNames(stored) }
        let isAsDeclared = catalog.indexList.withUnsafeBytes { declared in
            guard let stored = stored.baseAddress, let list = declared.baseAddress else { return declared.isEmpty }
            return memcmp(stored, list, declared.count) == 0
        }
        return isAsDeclared ? nil : LMDBFormat.indexNames(stored)
    }

    /// Whether every index of the schema is complete, and the file has no others that would have to be kept.
    var hasAllIndexes: Bool { completeIndexes.map { Set($0.keys) == catalog.indexNames } ?? true }

    func isComplete(_ index: LMDBCatalog.Index) -> Bool {
        index.database != nil && completeIndexes.map { $0[index.name] != nil } ?? true
    }

    /// Whether an index holds copies of records, which is so when the file says so: a program with another schema, or one
    /// that could not bring the index into its declared form, keeps it as it is.
    @inline(__always)
    func holdsCopies(_ index: LMDBCatalog.Index) -> Bool {
        guard let completeIndexes else { return index.isClustering }
        return completeIndexes[index.name] ?? false
    }

    /// An index for people, as plans tell of it.
    func path(_ index: LMDBCatalog.Index) -> String {
        holdsCopies(index) ? "clustering index \(index.title)" : "index \(index.title)"
    }

    // MARK: Bookkeeping

    /// Whether the store says that all of its text is in NFC. Those of the first versions do not.
    func textIsCanonical() throws -> Bool { try metadata(MetadataKey.textForm) == MetadataKey.nfc }

    /// A value of the store's own bookkeeping, or nil.
    public func metadata(_ key: String) throws -> String? {
        guard let bytes = try key.withKeyBytes({ try transaction.get(catalog.metadata, $0) }) else { return nil }
        guard let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw LMDBError.error(.corrupt, "the store's bookkeeping holds a value that is no text", path: catalog.path)
        }
        return text
    }

    // MARK: Records

    /// Lends the record of an identifier to `body`; nil when there is none.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        let found = try withUnsafeBytes(of: id.uuid) { try self.row(catalog.tables[entity], $0) }
        guard var reader = found?.reader else { return nil }
        return try body(&reader)
    }

    /// The record of a key; nil when there is none.
    func row(_ table: LMDBCatalog.Table, _ key: UnsafeRawBufferPointer) throws -> RecordView? {
        guard let value = try transaction.get(catalog.records(table), key) else { return nil }
        return try view(table, key, value)
    }

    /// A record, once its checksum and its identifier were found to be right.
    @inline(__always)
    func view(
        _ table: LMDBCatalog.Table,
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) throws -> RecordView {
        try Self.view(LMDBRecord(key: key, value: value), entity: table.name, table.layout, path: catalog.path)
    }

    /// A record of an entity, once its checksum and its identifier were found to be right.
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
        // The identifier is the first attribute, so its slot lies within what was just checked.
        let offset = layout.firstSlot
        guard key.count == LMDBFormat.identifierLength,
            key.loadUnaligned(as: UInt64.self) == value.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
            key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                == value.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
        else {
            throw HabitStoreError.damage(
                "a record is stored under another identifier than its own",
                at: .init(path: path(), entity: entity(), id: UUID(key: key))
            )
        }
        return view
    }

    /// A copy of a record in an index, once its checksum and its identifier were found to be right.
    @inline(__always)
    func view(
        _ table: LMDBCatalog.Table,
        _ id: UnsafeRawBufferPointer,
        _ copy: UnsafeRawBufferPointer,
        of index: LMDBCatalog.Index
    ) throws -> RecordView {
        do {
            return try view(table, id, copy)
        } catch let error as HabitStoreError {
            throw Self.at(error, "the copy in the index \(index.title): \(error.message)", table.name, id, catalog.path)
        }
    }

    /// The error of a record, at its place.
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

    /// How the engine would answer a query.
    public func plan(_ query: BoundQuery) throws -> LMDBPlan {
        guard mayKeepPlans else { return try plan(query, depth: 0) }
        return try catalog.plans.plan(query, self) { try plan($0, depth: 0) }
    }

    /// Plans inside of a write are others, and so are those of a file whose indexes are not all there.
    private var mayKeepPlans: Bool {
        #if PLANNER_MUTANTS
        if mutant != nil { return false }
        #endif
        return !transaction.isWritable && completeIndexes == nil
    }

    /// - Parameter depth: how many plans this one is part of.
    func plan(_ query: BoundQuery, depth: Int) throws -> LMDBPlan {
        let declared = catalog.tables[query.entity].indexes
        let indexes = declared.allSatisfy(isComplete) ? declared : declared.filter(isComplete)
        return try LMDBPlanner(query, self, indexes: indexes, depth: depth).plan()
    }

    /// How many records an entity has, as its tree says.
    public func recordCountAtHand(entity: Int) -> Int? {
        catalog.tables[entity].records.flatMap { try? transaction.count($0) }
    }

    /// The number of records of a plan whose filter is exact, without decoding any; its window is not applied.
    public func count(_ plan: LMDBPlan) throws -> Int {
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
        let table = catalog.tables[entity]
        let usable = table.indexes.filter { $0.layout.parts[0].position == attribute && isComplete($0) }
        guard let index = usable.first(where: { $0.layout.parts.count == 1 }) ?? usable.first,
            let key = try key(of: value, in: index)
        else { return try scanForIdentifiers(entity, attribute, value, limit) }
        var found: [UUID] = []
        let isSorted = index.layout.parts.count == 1
        let walk = LMDBRangeWalk(try transaction.cursor(catalog.database(index)))
        try walk.forEach([LMDBKeyRange(prefix: key.bytes)], reverse: false) { record in
            guard let id = UUID(keyEnd: record.key) else { throw malformedKey(index) }
            if key.isCut, try !matches(entity, id, attribute, value) { return true }
            found.append(id)
            return !isSorted || limit.map { found.count < $0 } ?? true
        }
        if !isSorted { found.sort { $0.isBefore($1) } }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    /// The beginning of the keys with a value in an index's first attribute; nil when no key has one.
    private func key(of value: Value, in index: LMDBCatalog.Index) throws -> (bytes: [UInt8], isCut: Bool)? {
        let part = index.layout.parts[0]
        if part.kind == .links, value.isNull { return nil }
        let domain = LMDBKeyDomain(
            prefix: [],
            position: part.position,
            kind: part.kind,
            isOptional: part.isOptional,
            budget: index.layout.budget,
            hasPresence: true,
            buffer: buffer
        )
        return try domain.key(value)
    }

    private func matches(_ entity: Int, _ id: UUID, _ attribute: Int, _ value: Value) throws -> Bool {
        try withRow(entity: entity, id: id) { try $0.value(at: attribute) == value } ?? false
    }

    private func scanForIdentifiers(_ entity: Int, _ attribute: Int, _ value: Value, _ limit: Int?) throws -> [UUID] {
        var found: [UUID] = []
        try walk(try plan(BoundQuery(entity: entity))) { row in
            let stored = try row.value(at: attribute)
            if case .links(let links) = stored, case .uuid(let target) = value {
                if links.contains(target) { found.append(try row.identifier()) }
            } else if stored == value {
                found.append(try row.identifier())
            }
            return limit.map { found.count < $0 } ?? true
        }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    func malformedKey(_ index: LMDBCatalog.Index) -> HabitStoreError {
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

extension UUID {
    /// The identifier that is a key; nil when the key has another length.
    init?(key: UnsafeRawBufferPointer) {
        guard key.count == LMDBFormat.identifierLength else { return nil }
        self.init(uuid: key.loadUnaligned(as: uuid_t.self))
    }

    /// The identifier that ends an index key; nil when the key is too short.
    @inline(__always)
    init?(keyEnd key: UnsafeRawBufferPointer) {
        guard key.count > LMDBFormat.identifierLength else { return nil }
        self.init(uuid: key.loadUnaligned(fromByteOffset: key.count - LMDBFormat.identifierLength, as: uuid_t.self))
    }
}
