import Foundation

/// An embedded storage engine: it opens a file, and stores, finds and walks encoded records in transactions.
///
/// What records mean (uniqueness, delete rules, order, text form, history) is decided above, in one place. An engine
/// must pass the conformance kit in `HabitStoreTesting`.
public protocol StorageEngine: AnyObject, Sendable {
    /// A consistent view of one moment.
    associatedtype Snapshot: EngineSnapshot
    /// The one write transaction at a time.
    associatedtype Writer: EngineWriter

    /// The file, or nil for an engine without one.
    var path: String? { get }

    /// Runs `body` over one snapshot, which no later write changes. Reads may run beside each other and beside a write.
    func read<R>(_ body: (Snapshot) throws -> R) throws -> R

    /// Runs `body` in the write transaction and makes it durable before it returns; a throw undoes all of it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/outcomeUnknown`` when the commit failed and the store must
    ///   be read again to know.
    func write<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` as ``write(_:)`` does, and may let it share its commit with others that arrive at the same time: each is
    /// whole or not at all by itself, sees those before it, and returns when the commit is durable that has all of them.
    ///
    /// - Throws: as ``write(_:)`` does; what the commit fails with, all that share it throw.
    func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R

    /// Runs `body` in one write transaction over a file whose records have the shape of this engine's schema before it, and
    /// that of another one behind it.
    ///
    /// - Parameters:
    ///   - schema: the other one.
    ///   - body: is given the writer of this engine's schema, and what gives the writer of the other one. From that call on,
    ///     the entities whose names it was given are empty and have the other schema's shape, with their indexes, those that
    ///     the other schema does not have are gone, and the first writer must not be used.
    /// - Throws: as ``write(_:)`` does; ``HabitStoreError/Code/unsupported`` for an engine whose stores are not kept.
    func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R

    /// Checks the file's own structure and the indexes against the records; an empty result is a clean bill.
    func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the file. Later transactions throw ``HabitStoreError/Code/closed``.
    func close()
}

extension StorageEngine {
    /// Each write has a commit of its own.
    public func writeTogether<R>(_ body: (Writer) throws -> R) throws -> R { try write(body) }

    /// Nothing is kept that could be of an older version.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: Writer, _ reshaped: (Set<String>) throws -> Writer) throws -> R
    ) throws -> R {
        throw HabitStoreError(.unsupported, "this engine's stores are made anew each time, and are not migrated")
    }
}

/// A consistent view of one moment. Used on one thread at a time, and not after its transaction.
public protocol EngineSnapshot: AnyObject {
    /// How the engine goes about a query.
    associatedtype Plan: EnginePlan

    /// Whether filters are evaluated as they are written, by ``FilterEvaluator``, and not compiled: so does the reference,
    /// against which compiled filters are tested.
    static var interpretsFilters: Bool { get }

    /// A number that no other contents of the store have had since it was opened; nil when the engine knows none, and inside
    /// of a write.
    var moment: UInt64? { get }

    /// A value of the store's own bookkeeping, or nil.
    func metadata(_ key: String) throws -> String?

    /// Lends the record of an identifier to `body`; nil when there is none.
    func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R?

    /// How the engine would answer a query.
    func plan(_ query: BoundQuery) throws -> Plan

    /// Hands every candidate of a plan to `body` until it returns false. A row is valid during the call.
    ///
    /// - Returns: how many records of any entity the engine looked at beside those that it handed out: exactly when the
    ///   query is analyzed (``BoundQuery/isAnalyzed``), else as far as counting them costs nothing.
    @discardableResult
    func walk(_ plan: Plan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int

    /// About how many records `walk` would hand out or look at, told without reading them all; nil when the engine cannot
    /// tell.
    func estimatedRows(_ plan: Plan) throws -> Int?

    /// How many records an entity has, where that takes nothing to tell; it is not relied on.
    func recordCountAtHand(entity: Int) -> Int?

    /// The number of records of a plan whose filter is exact, without decoding any.
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

    /// All kept digests of an entity, ascending; nil in a store that keeps none yet.
    func digestLeaves(entity: Int) throws -> [DigestLeaf]?
}

extension EngineSnapshot {
    /// Nothing is known without reading.
    public func recordCountAtHand(entity: Int) -> Int? { nil }

    /// Filters are compiled.
    public static var interpretsFilters: Bool { false }

    /// None is known.
    public var moment: UInt64? { nil }
}

/// The write transaction of an engine: a snapshot that sees its own changes.
public protocol EngineWriter: EngineSnapshot {
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

    /// Keeps a digest, in place of one with the same first identifier.
    func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws

    /// Forgets all kept digests of an entity.
    func removeDigestLeaves(entity: Int) throws
}

extension EngineWriter {
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
public protocol EnginePlan {
    /// What is left of the filter: candidates are a superset, of which those that fulfil it are the answer; nil when every
    /// candidate fulfils the filter.
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

extension EnginePlan {
    /// Whether every candidate fulfils the filter.
    public var filterIsExact: Bool { residual == nil }

    /// What does not come in order is sorted above.
    public var sortsInMemory: Bool { !orderIsExact }
}

/// A query with its names resolved.
public struct BoundQuery: Sendable {
    /// One key of the order.
    public struct SortKey: Sendable, Hashable {
        /// The attribute.
        public let position: Int
        /// Whether small values, and nil, come first.
        public let ascending: Bool

        /// Makes a key.
        public init(position: Int, ascending: Bool) {
            self.position = position
            self.ascending = ascending
        }
    }

    /// The entity.
    public var entity: Int
    /// The filter.
    public var filter: BoundExpression { didSet { shape = nil } }
    /// The keys of the total order; the last one is the identifier.
    public var order: [SortKey]
    /// How many records are passed over.
    public var offset: Int
    /// How many records are wanted at most; nil for all.
    public var limit: Int?
    /// Whether a condition that engines do not see is left to do above, so that nothing may be cut or counted before.
    public var hasOpaqueCondition: Bool
    /// Whether evaluating the filter or the opaque condition may fail, where Swift would trap or throw. Every candidate is
    /// then looked at before any is returned, whatever the order and the window, so that all engines fail alike.
    public var mayFail: Bool
    /// The attributes that the rows are read for, when not all of them are: an engine may leave out the others, but for the
    /// identifier and for those that the residual and the order need.
    public var projection: [Int]?
    /// Whether the order does not matter to who asks, as for counting: an engine need not go to any length for it.
    public var isUnordered = false
    /// Whether the engine is to count everything that it looks at, whatever that costs.
    public var isAnalyzed = false
    /// What the filter has in common with others that differ in constants only, and its constants; nil where it is not
    /// known to have anything.
    package private(set) var shape: (shape: PredicateShape, values: [Value])?

    /// Makes a query. The identifier is appended to an order that does not end with it.
    public init(
        entity: Int,
        filter: BoundExpression = .literal(.bool(true)),
        order: [SortKey] = [],
        offset: Int = 0,
        limit: Int? = nil,
        hasOpaqueCondition: Bool = false,
        opaqueConditionMayFail: Bool = false,
        projection: [Int]? = nil
    ) {
        self.entity = entity
        self.filter = filter
        self.order =
            order.contains { $0.position == 0 } ? order : order + [SortKey(position: 0, ascending: true)]
        self.offset = max(0, offset)
        self.limit = limit
        self.hasOpaqueCondition = hasOpaqueCondition
        mayFail = filter.canFail || opaqueConditionMayFail
        self.projection = projection
    }

    /// Makes a query with the filter of a shape.
    init(entity: Int, _ shape: PredicateShape, _ values: [Value], order: [SortKey], offset: Int, limit: Int?) {
        self.init(entity: entity, filter: shape.filter(values), order: order, offset: offset, limit: limit)
        self.shape = (shape, values)
    }
}

/// Something that a check found in a store.
public struct StoreFinding: Sendable, Hashable, Codable {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, Codable {
        /// Odd data that is carried as it is: dangling references, duplicates, odd dates.
        case anomaly
        /// The store contradicts itself or is damaged.
        case damage
    }

    /// How bad it is.
    public let severity: Severity
    /// The kind, a stable word: `danglingReference`, `indexEntryMissing`.
    public let kind: String
    /// The entity concerned.
    public let entity: String?
    /// The record concerned.
    public let id: UUID?
    /// The attribute concerned.
    public let attribute: String?
    /// One sentence, without the user's values.
    public let message: String

    /// Makes a finding.
    public init(
        _ severity: Severity,
        _ kind: String,
        _ message: String,
        entity: String? = nil,
        id: UUID? = nil,
        attribute: String? = nil
    ) {
        self.severity = severity
        self.kind = kind
        self.message = message
        self.entity = entity
        self.id = id
        self.attribute = attribute
    }
}
