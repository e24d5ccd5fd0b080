import Foundation
@_spi(Engines) import HabitStore
import Synchronization
import Trials

@testable import HabitStoreRollout

/// A store whose read transactions give false answers when a test wants them to.
final class LyingStore: InterceptingStore {
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

    let base: any UserStoreBackend
    private let lie: Mutex<Lie>
    private let slow = Atomic<Int>(0)

    init(_ base: any UserStoreBackend, _ lie: Lie) {
        self.base = base
        self.lie = Mutex(lie)
    }

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
}

/// A read transaction of a ``LyingStore``.
private final class LyingTransaction: InterceptingTransaction {
    let base: any ReadTransaction
    private let rest: () -> Void
    private let present: () -> LyingStore.Lie
    private var lie: LyingStore.Lie { present() }

    init(_ base: any ReadTransaction, rest: @escaping () -> Void, _ present: @escaping () -> LyingStore.Lie) {
        self.base = base
        self.rest = rest
        self.present = present
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
        return try enumerateRows(fetch, changedBy: { lie == .missing ? $0.dropLast() : $0.reversed() }, body)
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
