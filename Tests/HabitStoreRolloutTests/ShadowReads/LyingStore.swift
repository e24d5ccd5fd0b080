import Foundation
@_spi(Engines) import HabitStore
import Synchronization

@testable import HabitStoreRollout

/// A store whose read transactions give false answers when a test wants them to.
final class LyingStore: MaintainableStore, ReplicableStore {
    /// A kind of answer.
    enum Lie: Sendable, CaseIterable {
        /// A true answer.
        case none
        /// Without the last row, and without a record looked up by its identifier.
        case missing
        /// With the rows in the opposite order.
        case reversed
        /// One more than there are.
        case miscounted
        /// With an error that a query may cause.
        case refusing
        /// With a disk error.
        case failing
        /// One row at a time, each after a pause.
        case slow
    }

    private let base: any UserStoreBackend
    private let lie: Mutex<Lie>
    private let slow = Atomic<Int>(0)

    init(_ base: any UserStoreBackend, _ lie: Lie) {
        self.base = base
        self.lie = Mutex(lie)
    }

    var schema: Schema { base.schema }
    var dispatcher: StoreDispatcher { base.dispatcher }
    var path: String? { base.path }

    /// How many rows were returned after a pause.
    var slowRows: Int { slow.load(ordering: .relaxed) }

    func set(_ lie: Lie) { self.lie.withLock { $0 = lie } }

    private func rest() {
        slow.add(1, ordering: .relaxed)
        Thread.sleep(forTimeInterval: 0.02)
    }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        // Each query gets the lie set at that time, because snapshots are kept for later queries.
        try base.read { try body(LyingTransaction($0, rest: rest) { self.lie.withLock { $0 } }) }
    }

    func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read(while: condition, body)
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    @discardableResult
    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author, body)
    }

    @discardableResult
    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    @discardableResult
    func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try base.write(author: author, under: terms, body)
    }

    func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R { try base.replicaRead(body) }

    func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R { try base.replicate(body) }

    func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    func rebuildDigests() throws { try base.rebuildDigests() }

    func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    func backup(to path: String) throws { try base.backup(to: path) }

    func close() { base.close() }
}

/// A read transaction of a ``LyingStore``.
private final class LyingTransaction: ReadTransaction {
    private let base: any ReadTransaction
    private let rest: () -> Void
    private let present: () -> LyingStore.Lie
    private var lie: LyingStore.Lie { present() }

    init(_ base: any ReadTransaction, rest: @escaping () -> Void, _ present: @escaping () -> LyingStore.Lie) {
        self.base = base
        self.rest = rest
        self.present = present
    }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }
    func information() throws -> StoreInformation { try base.information() }
    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try base.prepare(descriptor)
    }
    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try begin()
        return lie == .missing ? false : try base.withRow(entity: entity, id: id, body)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try begin()
        guard lie == .missing || lie == .reversed else {
            return try base.enumerateRows(fetch) { row in
                if lie == .slow { rest() }
                return try body(&row)
            }
        }
        var rows: [EncodedRecord] = []
        var whole = fetch
        whole.query.projection = nil
        let statistics = try base.enumerateRows(whole) { row in
            rows.append(try row.encoded())
            return true
        }
        if lie == .missing { rows = rows.dropLast() } else { rows.reverse() }
        let layout = schema.entities[fetch.query.entity].layout
        for row in rows {
            let goesOn = try row.bytes.withUnsafeBytes { bytes in
                var reader = AttributeReader(bytes, layout: layout)
                return try body(&reader)
            }
            guard goesOn else { break }
        }
        return statistics
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        try begin()
        return try base.count(fetch) + (lie == .miscounted ? 1 : 0)
    }

    private func begin() throws {
        switch lie {
        case .refusing: throw HabitStoreError(.evaluationFailed, "a lie")
        case .failing: throw HabitStoreError(.inputOutput, "a lie")
        default: break
        }
    }
}
