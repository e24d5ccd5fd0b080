import Foundation
@_spi(Engines) import HabitStore

/// The planner's view of a snapshot of a store whose records and indexes are ordered keys.
package protocol KeySnapshot: EngineSnapshot where Plan == KeyPlan {
    var schema: Schema { get }
    /// The schema in the form of ordered keys.
    var keyTables: KeyTables { get }
    /// The indexes that may be used.
    var completeIndexes: CompleteIndexes { get }
    /// Builds keys.
    var buffer: IndexKeyBuffer { get }
    /// The store's cached plans.
    var plans: KeyPlanCache { get }
    /// Whether this is the snapshot of a write.
    var isWritable: Bool { get }
    /// Whether all keys can be walked before the first of their records is read, at no extra cost.
    var readsRecordsLater: Bool { get }
    /// How often keys were counted to choose between plans.
    var keyCounts: Int { get }
    #if PLANNER_MUTANTS
    /// The planted bug; only in tests.
    var mutant: KeyPlannerMutant? { get }
    #endif

    /// Whether an index can be used.
    func isComplete(_ index: KeyIndex) -> Bool

    /// The number of keys in ranges, of which at most `most` are counted one by one.
    func countKeys(_ access: KeyPlan.Access, _ ranges: [KeyRange], _ entity: Int, upTo most: Int) throws -> Int

    /// The identifiers at the end of the keys in ranges, in key order, without reading a record.
    ///
    /// - Parameter most: the maximum number of identifiers.
    func identifiers(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        atMost most: Int
    ) throws -> [UUID]

    /// The distinct references or links at the start of an index's keys, ascending; nil if there are more than `most`.
    func firstIdentifiers(in index: KeyIndex, of entity: Int, atMost most: Int) throws -> [UUID]?
}

extension KeySnapshot {
    /// The name of an index in descriptions of plans.
    func path(_ index: KeyIndex) -> String {
        completeIndexes.holdCopies(index) ? "clustering index \(index.title)" : "index \(index.title)"
    }

    /// The first complete index that begins with an attribute.
    func index(_ entity: Int, beginningWith attribute: Int) -> KeyIndex? {
        keyTables.tables[entity].indexes.first { $0.layout.parts[0].position == attribute && isComplete($0) }
    }

    // MARK: Plans

    /// How the engine would execute a query: a cached plan or a new one.
    package func planned(_ query: BoundQuery) throws -> KeyPlan {
        guard mayKeepPlans else { return try plan(query, depth: 0) }
        return try plans.plan(query, self) { try plan($0, depth: 0) }
    }

    /// Plans inside a write are different, as are those of a store without all indexes.
    private var mayKeepPlans: Bool {
        #if PLANNER_MUTANTS
        if mutant != nil { return false }
        #endif
        return !isWritable && completeIndexes.isAll
    }

    /// - Parameter depth: the number of plans that contain this one.
    func plan(_ query: BoundQuery, depth: Int) throws -> KeyPlan {
        let declared = keyTables.tables[query.entity].indexes
        let indexes = declared.allSatisfy(isComplete) ? declared : declared.filter(isComplete)
        return try KeyPlanner(query, self, indexes: indexes, depth: depth).plan()
    }

    // MARK: Identifiers

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending.
    package func identifiersByKeys(
        entity: Int,
        attribute: Int,
        equalTo value: Value,
        limit: Int?
    ) throws -> [UUID] {
        let usable = keyTables.tables[entity].indexes.filter {
            $0.layout.parts[0].position == attribute && isComplete($0)
        }
        guard let index = usable.first(where: { $0.layout.parts.count == 1 }) ?? usable.first,
            let key = try key(of: value, in: index)
        else { return try scanForIdentifiers(entity, attribute, value, limit) }
        let isSorted = index.layout.parts.count == 1
        let isWanted = isSorted && !key.isCut
        var found = try identifiers(
            .index(index.place),
            [KeyRange(prefix: key.bytes)],
            entity,
            atMost: isWanted ? limit ?? Int.max : Int.max
        )
        if key.isCut { found = try found.filter { try matches(entity, $0, attribute, value) } }
        if !isSorted { found.sort { $0.isBefore($1) } }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    /// The prefix of the keys with a value in an index's first attribute; nil if no key has it.
    private func key(of value: Value, in index: KeyIndex) throws -> (bytes: [UInt8], isCut: Bool)? {
        let part = index.layout.parts[0]
        if part.kind == .links, value.isNull { return nil }
        return try KeyDomain(part, of: index.layout, behind: [], buffer).key(value)
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
}

extension UUID {
    /// The identifier that is the whole key; nil if the key has another length.
    package init?(key: UnsafeRawBufferPointer) {
        guard key.count == KeyFormat.identifierLength else { return nil }
        self.init(uuid: key.loadUnaligned(as: uuid_t.self))
    }

    /// The identifier at the end of an index key; nil if the key is too short.
    @inlinable
    @inline(__always)
    package init?(keyEnd key: UnsafeRawBufferPointer) {
        guard key.count > 16 else { return nil }
        self.init(uuid: key.loadUnaligned(fromByteOffset: key.count - 16, as: uuid_t.self))
    }
}
