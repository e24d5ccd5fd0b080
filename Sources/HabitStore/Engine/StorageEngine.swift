import Foundation

/// An embedded storage engine: it opens a file, and stores, finds and walks encoded records in transactions.
///
/// What records mean (uniqueness, delete rules, order, text form, history) is decided above, in one place. An engine
/// must pass the conformance kit in `HabitStoreTesting`.
@_spi(Engines) public protocol StorageEngine: AnyObject, Sendable {
    /// A consistent view of one moment.
    associatedtype Snapshot: EngineSnapshot
    /// The one write transaction at a time.
    associatedtype Writer: EngineWriter

    /// The file, or nil for an engine without one.
    var path: String? { get }

    /// Runs `body` on one snapshot, which no later write changes. Reads may run concurrently with each other and with a write.
    func read<R>(_ body: (Snapshot) throws -> R) throws -> R

    /// Runs `body`, which needs the bookkeeping only, on one snapshot. Unlike ``read(_:)``, it changes nothing in a file that other programs have
    /// written to.
    func readBookkeeping<R>(_ body: (Snapshot) throws -> R) throws -> R

    /// Runs `body` in the write transaction and makes it durable before it returns; a throw undoes all of it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/outcomeUnknown`` when the commit failed and the store must
    ///   be read again to know.
    func write<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` like ``write(_:)``, but may share its commit with other writes that arrive at the same time: each is atomic by
    /// itself, sees those before it, and returns when their common commit is durable.
    ///
    /// - Throws: the errors of ``write(_:)``; all writes that share a commit throw its error.
    func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` in one write transaction on a file whose records have the form of this engine's schema before it, and that of
    /// another schema after it.
    ///
    /// - Parameters:
    ///   - schema: the other schema.
    ///   - body: gets the writer of this engine's schema, and a function that returns the writer of the other one. After that call,
    ///     the entities with the given names are empty and have the other schema's form, as do their indexes; entities that the
    ///     other schema lacks are gone; and the first writer must not be used.
    /// - Throws: the errors of ``write(_:)``; ``HabitStoreError/Code/unsupported`` for an engine without persistent stores.
    func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R

    /// Throws if the path leads to another file than the open one, or to none. Called now and then for callers that only read and
    /// would not notice. It must cost no more than a file system lookup.
    ///
    /// - Throws: ``HabitStoreError/Code/fileMoved``.
    func requireInPlace() throws

    /// Checks the file's own structure and the indexes against the records; an empty result is a clean bill.
    func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the file. Later transactions throw ``HabitStoreError/Code/closed``.
    func close()
}

@_spi(Engines) extension StorageEngine {
    /// Runs `body` like ``read(_:)``.
    public func readBookkeeping<R>(_ body: (Snapshot) throws -> R) throws -> R { try read(body) }

    /// Gives each write a separate commit.
    public func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R { try write(body) }

    /// Nothing can be put in the store's place.
    public func requireInPlace() throws {}

    /// Nothing is kept that could be of an older version.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R {
        throw HabitStoreError(
            .unsupported,
            "this engine creates its stores from scratch each time and does not migrate them"
        )
    }
}

/// A consistent view of one moment. Used on one thread at a time, and not after its transaction.
@_spi(Engines) public protocol EngineSnapshot: AnyObject {
    /// How the engine goes about a query.
    associatedtype Plan: EnginePlan

    /// Whether filters are evaluated as written, by ``FilterEvaluator``, rather than compiled, as in the reference that compiled
    /// filters are tested against.
    static var interpretsFilters: Bool { get }

    /// Whether each answer is a wait, so that it pays to combine questions: only then are ``whenBegun(_:)`` called and, before
    /// records are stored, ``EngineWriter/expect(_:)``.
    static var waitsForAnswers: Bool { get }

    /// A number that no other contents of the store have had since it was opened; nil when the engine knows none, and inside
    /// of a write.
    var moment: UInt64? { get }

    /// Sees to it that a condition on the store's bookkeeping holds before anything that the snapshot tells is handed out. An engine
    /// that has to wait for each answer may put it off to the first one.
    ///
    /// - Throws: what the condition throws; or the first answer does, and then what runs over the snapshot, whatever it made of it.
    func whenBegun(_ check: @escaping () throws -> Void) throws

    /// A value of the store's own bookkeeping, or nil.
    func metadata(_ key: String) throws -> String?

    /// Lends the record of an identifier to `body`; nil when there is none.
    func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R?

    /// Whether there is a record of an identifier.
    func contains(entity: Int, id: UUID) throws -> Bool

    /// How the engine would answer a query.
    func plan(_ query: BoundQuery) throws -> Plan

    /// Passes every candidate of a plan to `body` until it returns false. A row is valid during the call.
    ///
    /// - Returns: how many records of any entity the engine visited in addition to the candidates: exact if the query is analyzed
    ///   (``BoundQuery/isAnalyzed``), otherwise as far as counting costs nothing.
    @discardableResult
    func walk(_ plan: Plan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int

    /// About how many records `walk` would hand out or look at, told without reading them all; nil when the engine cannot
    /// tell.
    func estimatedRows(_ plan: Plan) throws -> Int?

    /// How many records an entity has, where that takes nothing to tell; it is not relied on.
    func recordCountAtHand(entity: Int) -> Int?

    /// The number of records of a plan whose filter is exact, without decoding any; its window is not applied.
    func count(_ plan: Plan) throws -> Int

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending. The attribute
    /// is the first of an index.
    func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID]

    /// The number of the last history transaction; 0 when there has been none.
    func lastToken() throws -> Int64

    /// Hands the history transactions after a number to `body`, oldest first, until it returns false.
    func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws

    /// The records of an entity in a range of identifiers, decoded by code that nothing else uses. Valid as long as the
    /// snapshot; writes during the walk end it.
    func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor

    /// The kept digest in whose range an identifier is; nil in a store that keeps no digests yet.
    func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf?

    /// All kept digests of an entity, ascending; nil in a store that keeps none yet. None in one that has a place for them is damage.
    func digestLeaves(entity: Int) throws -> [DigestLeaf]?

    /// The lines of a rollout's evidence from a number on, ascending, `limit` at most; the last one for nil. Only asked of engines
    /// whose stores several machines reach.
    func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow]
}

@_spi(Engines) extension EngineSnapshot {
    /// None is kept.
    public func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow] {
        throw HabitStoreError.keepsNoEvidence
    }

    /// The condition is looked at now.
    public func whenBegun(_ check: @escaping () throws -> Void) throws { try check() }

    /// Looks at the record.
    public func contains(entity: Int, id: UUID) throws -> Bool {
        try withRow(entity: entity, id: id) { _ in true } != nil
    }

    /// Nothing is known without reading.
    public func recordCountAtHand(entity: Int) -> Int? { nil }

    /// False: answers are immediate.
    public static var waitsForAnswers: Bool { false }

    /// Filters are compiled.
    public static var interpretsFilters: Bool { false }

    /// None is known.
    public var moment: UInt64? { nil }
}

/// The write transaction of an engine: a snapshot that sees its own changes.
@_spi(Engines) public protocol EngineWriter: EngineSnapshot {
    /// Sends expected questions together. This affects only the speed.
    func expect(_ questions: ExpectedQuestions) throws

    /// The identifiers, ascending, of the records that have a record's values in some attributes, of which none is nil.
    ///
    /// - Returns: nil where this was not expected, and has to be asked.
    func expectedIdentifiers(entity: Int, attributes: [Int], of record: RecordView) throws -> [UUID]?

    /// Stores a record under an identifier that has none yet.
    ///
    /// - Returns: false, and nothing is changed, when there is one.
    func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool

    /// Stores the records of a batch, in whatever order suits the engine, under identifiers that have none yet.
    ///
    /// - Parameter batch: no two of its records have the same identifier.
    /// - Returns: nil; or the place of the first record of the batch whose identifier is taken. What of the batch was stored
    ///   then is open: the transaction is undone.
    func insert(entity: Int, _ batch: RecordBatch) throws -> Int?

    /// Replaces a record; `old` is what is stored.
    func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws

    /// Removes a record; `old` is what is stored.
    func delete(entity: Int, id: UUID, record old: RecordView) throws

    /// Sets a value of the store's own bookkeeping, or removes it.
    func setMetadata(_ key: String, _ value: String?) throws

    /// Appends to the history. Tokens arrive ascending.
    func append(_ transaction: HistoryTransaction) throws

    /// Forgets the history up to and including a number.
    func pruneHistory(through token: Int64) throws

    /// Stores a digest. Replaces one with the same first identifier.
    func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws

    /// Forgets all kept digests of an entity.
    func removeDigestLeaves(entity: Int) throws

    /// Adds lines of a rollout's evidence, under numbers that have none yet. Only asked of engines whose stores several machines
    /// reach.
    ///
    /// - Parameter number: from which on lines are removed before; nil for none.
    func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws
}

@_spi(Engines) extension EngineWriter {
    /// None is kept.
    public func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws {
        throw HabitStoreError.keepsNoEvidence
    }

    /// Each question is answered when it is asked.
    public func expect(_ questions: ExpectedQuestions) throws {}

    /// None was expected.
    public func expectedIdentifiers(entity: Int, attributes: [Int], of record: RecordView) throws -> [UUID]? { nil }

    /// Stores them one by one.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        var taken: Int?
        for place in batch.placesByIdentifier
        where try !insert(entity: entity, id: batch.identifier(at: place), record: batch[place]) {
            taken = min(taken ?? Int.max, place)
        }
        return taken
    }
}

/// How an engine goes about a query, and how much of it is left to do above.
@_spi(Engines) public protocol EnginePlan {
    /// The part of the filter that candidates must still be tested with; nil if every candidate meets the whole filter.
    var residual: BoundExpression? { get }
    /// Whether candidates come in the query's total order.
    var orderIsExact: Bool { get }
    /// Whether something is sorted in memory to get that order, here or above.
    var sortsInMemory: Bool { get }
    /// Whether offset and limit are already applied.
    var windowIsApplied: Bool { get }
    /// The access path for people: `index Entry(habitID, date) range`, `scan Habit`.
    var accessPath: String { get }
}

@_spi(Engines) extension EnginePlan {
    /// Whether every candidate fulfils the filter.
    public var filterIsExact: Bool { residual == nil }

    /// What does not come in order is sorted above.
    public var sortsInMemory: Bool { !orderIsExact }
}

/// Walks an entity's stored records in the order of their identifiers.
///
/// An engine's cursor has a separate decoder: it shares nothing with the code that turns rows into records for the engine's
/// transactions, copies and mirrors, so that a mistake there is found rather than repeated. A value that is invalid for its
/// attribute is not an error here; its form differs from that of all values.
@_spi(Engines) public protocol AuditCursor: AnyObject {
    /// Moves to the next record.
    ///
    /// - Returns: false after the last.
    func next() throws -> Bool

    /// The record's key; what identifies it in the file.
    var identifier: UUID { get }

    /// The record's ``CanonicalForm``, valid until the next call of ``next()``. It begins with the record's key, or with an invalid
    /// value.
    var canonical: UnsafeRawBufferPointer { get }
}

/// A read transaction that can be audited: its records can be read past what transactions read with, and it may know the
/// digests that the store's own transactions keep.
@_spi(Engines) public protocol AuditableTransaction: ReadTransaction {
    /// The records of an entity in a range of identifiers.
    func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor

    /// The kept digests of an entity, ascending; nil in a store that was never written to by a version that keeps them.
    func keptDigests(entity: Int) throws -> [DigestLeaf]?

    /// Whether the store's file was migrated: its history may then name records of entities that the schema no longer has.
    func wasMigrated() throws -> Bool
}
