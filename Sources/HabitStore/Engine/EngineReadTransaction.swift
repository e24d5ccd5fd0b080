import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A read transaction over an engine's snapshot.
class EngineReadTransaction<Snapshot: EngineSnapshot>: AuditableTransaction {
    let snapshot: Snapshot
    let schema: Schema
    let evaluatesPredicates: Bool
    private let scope: SnapshotResolver<Snapshot>
    let thread = TransactionThread()
    private var work = FetchStatistics()
    /// The cursors that callers hold.
    private var cursors: [TransactionCursor<Snapshot>.Place] = []

    init(_ snapshot: Snapshot, schema: Schema, evaluatesPredicates: Bool) {
        self.snapshot = snapshot
        self.schema = schema
        self.evaluatesPredicates = evaluatesPredicates
        scope = SnapshotResolver(snapshot, schema)
    }

    convenience init<Engine>(_ snapshot: Snapshot, _ store: EngineStore<Engine>) {
        self.init(snapshot, schema: store.schema, evaluatesPredicates: store.evaluatesPredicates)
    }

    /// Runs the transaction's closure; the models' relationship properties lead through this transaction meanwhile.
    func run<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        defer { end() }
        let result = try RelationshipScope.withResolver(scope) { try body(self) }
        try scope.rethrow()
        return result
    }

    /// Whatever was handed out and is still held somewhere lets go of the engine here, on the transaction's thread.
    private func end() {
        for place in cursors { place.base = nil }
        cursors = []
        thread.end()
    }

    /// A cursor is not held any more.
    func close(_ place: TransactionCursor<Snapshot>.Place) { cursors.removeAll { $0 === place } }

    func requireOpen() throws { try thread.require() }

    var statistics: FetchStatistics {
        guard thread.isCurrent || thread.hasEnded else {
            fatalError("the statistics of a transaction were read on another thread while its closure runs")
        }
        return work
    }

    func currentToken() throws -> HistoryToken {
        try requireOpen()
        return try StoreBookkeeping.lastToken(snapshot)
    }

    func information() throws -> StoreInformation {
        try requireOpen()
        return try StoreBookkeeping.information(snapshot)
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try requireOpen()
        return try snapshot.withRow(entity: entity, id: id, body) != nil
    }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try requireOpen()
        return try PreparedFetch(descriptor, schema: schema, evaluatesPredicates: evaluatesPredicates) { condition in
            let evaluator = FilterEvaluator(SnapshotRecords(snapshot))
            return { [self] row in
                // The fetch may be with another transaction by now.
                try thread.require()
                let model = try M.read(from: &row)
                let result = Result { try condition.holds(model, row.values, evaluator) }
                // A relationship that could not be read is why whatever came after it went wrong.
                try scope.rethrow()
                return try result.get()
            }
        }
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try requireOpen()
        let statistics = try QueryRunner(snapshot, schema).run(fetch.query, condition: fetch.condition, body)
        work += statistics
        return statistics
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        try requireOpen()
        let (count, statistics) = try QueryRunner(snapshot, schema).count(fetch.query, condition: fetch.condition)
        work += statistics
        return count
    }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher {
        try requireOpen()
        return RowMatcher(QueryRunner(snapshot, schema).filter(fetch.query, fetch.query.filter, fetch.condition))
    }

    func expectedCount(_ fetch: PreparedFetch) -> Int? {
        let query = fetch.query
        guard thread.isCurrent, query.filter.isAlwaysTrue, !query.hasOpaqueCondition,
            let count = snapshot.recordCountAtHand(entity: query.entity)
        else { return nil }
        // A damaged file must not exhaust the memory.
        return min(query.window.count(of: count), FetchedModels.mostExpected)
    }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation {
        try requireOpen()
        let plan = try snapshot.plan(fetch.query)
        let isNative = plan.filterIsExact && !fetch.query.hasOpaqueCondition
        return QueryExplanation(
            method: isNative ? .native : (plan.accessPath.hasPrefix("scan") ? .scan : .nativeAndResidual),
            accessPath: plan.accessPath,
            filter: fetch.filter.description,
            residual: plan.residual
                .map { FilterExpression($0, schema: schema, entity: fetch.query.entity).description },
            evaluatesPredicate: fetch.query.hasOpaqueCondition,
            orderIsNative: !plan.sortsInMemory && !fetch.query.mayFail,
            estimatedRows: try snapshot.estimatedRows(plan)
        )
    }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try requireOpen()
        try StoreBookkeeping.history(snapshot, after: token, body)
    }

    func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        try requireOpen()
        let place = TransactionCursor<Snapshot>.Place(try snapshot.auditCursor(entity: entity, in: range))
        cursors.append(place)
        return TransactionCursor(place, of: self)
    }

    func keptDigests(entity: Int) throws -> [DigestLeaf]? {
        try requireOpen()
        return try snapshot.digestLeaves(entity: entity)
    }

    func wasMigrated() throws -> Bool {
        try requireOpen()
        return try StoreBookkeeping.stamp(snapshot).migrations > 0
    }
}

/// Follows the models' relationship properties through a snapshot, on the thread that runs the transaction.
final class SnapshotResolver<Snapshot: EngineSnapshot>: RelationshipResolver {
    private let snapshot: Snapshot
    private let schema: Schema
    private var failure: (any Error)?

    init(_ snapshot: Snapshot, _ schema: Schema) {
        self.snapshot = snapshot
        self.schema = schema
    }

    /// Throws the first error that a relationship property could not.
    func rethrow() throws {
        if let failure {
            self.failure = nil
            throw failure
        }
    }

    func record<D: PersistentModel>(_ type: D.Type, _ id: UUID) -> D? {
        attempt {
            try snapshot.withRow(entity: schema.position(of: type), id: id) { try D.read(from: &$0) }
        } ?? nil
    }

    func records<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, [D]>, of owner: UUID) -> [D] {
        attempt {
            guard case .relationship(let entity, let position)? = schema.property(at: keyPath) else {
                throw HabitStoreError(
                    .unknownAttribute,
                    "\(M.entity.title(of: keyPath)) is not a relationship of the store's schema"
                )
            }
            let relationship = schema.relationships[entity][position]
            let ids = try snapshot.identifiers(
                entity: relationship.destination,
                attribute: relationship.attribute,
                equalTo: .uuid(owner),
                limit: nil
            )
            return ids.compactMap { record(D.self, $0) }
        } ?? []
    }

    private func attempt<R>(_ body: () throws -> R) -> R? {
        do {
            return try body()
        } catch {
            if failure == nil { failure = error }
            return nil
        }
    }
}

/// An engine's cursor as a transaction hands it out: it ends with the transaction, and stays on its thread.
final class TransactionCursor<Snapshot: EngineSnapshot>: AuditCursor {
    /// The position of the engine's cursor, shared with the transaction: a cursor that outlives the transaction, or is released on
    /// another thread, does not touch the engine.
    final class Place {
        /// The engine's cursor; nil once the transaction has ended.
        var base: (any AuditCursor)?

        init(_ base: any AuditCursor) { self.base = base }
    }

    private let place: Place
    private let transaction: EngineReadTransaction<Snapshot>

    init(_ place: Place, of transaction: EngineReadTransaction<Snapshot>) {
        (self.place, self.transaction) = (place, transaction)
    }

    deinit {
        if transaction.thread.isCurrent { transaction.close(place) }
    }

    func next() throws -> Bool { try current().next() }

    var identifier: UUID { required.identifier }

    var canonical: UnsafeRawBufferPointer { required.canonical }

    private func current() throws -> any AuditCursor {
        try transaction.requireOpen()
        guard let base = place.base else { throw transaction.thread.refusal }
        return base
    }

    private var required: any AuditCursor {
        guard transaction.thread.isCurrent, let base = place.base else {
            fatalError("a transaction's cursor was read outside of its closure, or on another thread")
        }
        return base
    }
}

/// The thread that a transaction belongs to, from its beginning to its end.
///
/// Objects from a transaction can escape: from its closure, into a task, to another thread. Each of them checks this first, so that
/// none uses a connection that another caller may have by then. One atomic number is enough: only the transaction's own thread can
/// find its own id there.
package struct TransactionThread: ~Copyable, Sendable {
    /// The thread; 0 once the transaction has ended.
    @usableFromInline let owner: Atomic<UInt>

    /// The transaction begins on the calling thread.
    @inlinable
    package init() { owner = Atomic(Self.current) }

    /// Whether the calling thread may use the transaction.
    @inlinable
    @inline(__always)
    package var isCurrent: Bool { owner.load(ordering: .relaxed) == Self.current }

    /// The transaction ends; nothing of it can be used any more.
    @inlinable
    package func end() { owner.store(0, ordering: .releasing) }

    /// Whether the transaction has ended. What its thread counted until then can be read by any thread.
    @inlinable
    package var hasEnded: Bool { owner.load(ordering: .acquiring) == 0 }

    /// - Throws: ``HabitStoreError/Code/transactionEnded`` when the transaction has ended, or belongs to another thread.
    @inlinable
    @inline(__always)
    package func require() throws {
        guard isCurrent else { throw refusal }
    }

    /// Why the calling thread may not use the transaction.
    @usableFromInline
    @inline(never)
    package var refusal: HabitStoreError {
        guard owner.load(ordering: .relaxed) != 0 else {
            return HabitStoreError(
                .transactionEnded,
                "a transaction was used after its closure had ended; use it inside of the closure only"
            )
        }
        return HabitStoreError(
            .transactionEnded,
            "a transaction was used on another thread; use it on the thread that runs its closure only"
        )
    }

    /// A number that names the calling thread while it lives; never 0.
    @inlinable
    @inline(__always)
    static var current: UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        return UInt(bitPattern: pthread_self())
        #endif
    }
}
