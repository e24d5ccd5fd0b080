import Foundation
@_spi(Engines) import HabitStore

/// The plan of a query: all records of an entity in order of identifier, or those after one identifier.
@_spi(Engines) public struct JournalPlan: EnginePlan {
    let entity: Int
    let after: UUID?
    /// The rest of the filter; nil if every candidate fulfils it.
    public let residual: BoundExpression?
    /// Whether the order is that of the identifiers.
    public let orderIsExact: Bool
    /// `scan Habit`, `range Habit(id)`.
    public let accessPath: String
    /// False: the engine does not apply the window.
    public var windowIsApplied: Bool { false }
}

/// A snapshot, and the write transaction: a copy of the state, and the changes for the commit.
@_spi(Engines) public final class JournalTransaction: EngineWriter {
    private(set) var state: JournalState
    /// The encoded changes.
    private(set) var changes: [UInt8] = []
    /// The schema of the records; another version during a migration.
    var schema: Schema

    init(_ state: JournalState, _ schema: Schema) { (self.state, self.schema) = (state, schema) }

    /// Applies a change, and records it for the commit.
    func change(_ change: JournalChange) throws {
        try change.encode(into: &changes)
        state.apply(change)
    }

    private func name(_ entity: Int) -> String { schema.entities[entity].name }

    private func records(_ entity: Int) -> SortedRecords { state.records[name(entity)] ?? SortedRecords() }

    // MARK: Reading

    /// A value of the store's own bookkeeping.
    public func metadata(_ key: String) -> String? { state.metadata[key] }

    /// Calls `body` with the record of an identifier.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        guard let record = records(entity)[id] else { return nil }
        return try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            return try body(&reader)
        }
    }

    /// The records after an identifier, which copies use to page through an entity, are found by the records' order. Every other query is a scan, and
    /// the
    /// store evaluates the filter: this is where an engine would plan an index.
    public func plan(_ query: BoundQuery) -> JournalPlan {
        var (after, residual): (UUID?, BoundExpression?) = (nil, query.filter.isAlwaysTrue ? nil : query.filter)
        if case .compare(
            .greater,
            .attribute(let path, position: 0, kind: .uuid, isOptional: false),
            .literal(.uuid(let id))
        ) =
            query.filter, path.isRoot
        {
            (after, residual) = (id, nil)
        }
        return JournalPlan(
            entity: query.entity,
            after: after,
            residual: residual,
            orderIsExact: query.order.first == .init(position: 0, ascending: true),
            accessPath: after == nil ? "scan \(name(query.entity))" : "range \(name(query.entity))(id)"
        )
    }

    /// Calls `body` with the records of a plan, in order of identifier.
    @discardableResult
    public func walk(_ plan: JournalPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let layout = schema.entities[plan.entity].layout
        try records(plan.entity).forEach(from: plan.after ?? IdentifierRange.all.first) { id, record in
            if id == plan.after { return true }
            return try record.withView(layout) { view in
                var reader = view.reader
                return try body(&reader)
            }
        }
        return 0
    }

    /// At most all records of the entity.
    public func estimatedRows(_ plan: JournalPlan) -> Int? { records(plan.entity).count }

    /// The number of records of a plan.
    public func count(_ plan: JournalPlan) throws -> Int {
        guard plan.after != nil else { return records(plan.entity).count }
        var count = 0
        try walk(plan) { _ in
            count += 1
            return true
        }
        return count
    }

    /// Scans every record.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        var found: [UUID] = []
        let layout = schema.entities[entity].layout
        try records(entity).forEach(from: IdentifierRange.all.first) { id, record in
            guard found.count < limit ?? .max else { return false }
            let stored = try record.withView(layout) { try $0.value(at: attribute) }
            if case (.links(let links), .uuid(let target)) = (stored, value) {
                if links.contains(target) { found.append(id) }
            } else if stored == value {
                found.append(id)
            }
            return true
        }
        return found
    }

    /// The number of the last history transaction.
    public func lastToken() -> Int64 { state.lastToken }

    /// The history transactions after a number.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        try state.history(after: token, body)
    }

    /// The records of an entity in a range of identifiers.
    public func auditCursor(entity: Int, in range: IdentifierRange) -> any AuditCursor {
        JournalAuditCursor(records(entity), schema.entities[entity].layout, range)
    }

    /// The kept digest whose range includes an identifier.
    public func digestLeaf(entity: Int, covering id: UUID) -> DigestLeaf? {
        let leaves = state.digests[name(entity)] ?? []
        let next = leaves.firstPlace { id.isBefore($0.first) }
        return next > 0 ? leaves[next - 1] : nil
    }

    /// All kept digests of an entity.
    public func digestLeaves(entity: Int) -> [DigestLeaf]? { state.digests[name(entity)] }

    // MARK: Writing

    /// Stores a record if its identifier has none yet.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        guard records(entity)[id] == nil else { return false }
        try change(.put(entity: name(entity), id: id, record.encoded()))
        return true
    }

    /// Replaces a record.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try change(.put(entity: name(entity), id: id, record.encoded()))
    }

    /// Removes a record.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try change(.remove(entity: name(entity), id: id))
    }

    /// Sets a value of the store's own bookkeeping, or removes it.
    public func setMetadata(_ key: String, _ value: String?) throws { try change(.setMetadata(key: key, value: value)) }

    /// Appends to the history.
    public func append(_ transaction: HistoryTransaction) throws { try change(.append(transaction)) }

    /// Removes the history up to a number.
    public func pruneHistory(through token: Int64) throws { try change(.prune(through: token)) }

    /// Stores a digest.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        try change(.setDigest(entity: name(entity), leaf))
    }

    /// Removes all kept digests of an entity.
    public func removeDigestLeaves(entity: Int) throws { try change(.removeDigests(entity: name(entity))) }
}
