import Foundation

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
