import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// A store whose operations fail or hang as a ``FaultPlan`` says, to test code that uses stores.
///
/// ```swift
/// let plan = FaultPlan()
/// let store = try FaultInjectingStore(plan) { try LMDBHabitStore(path: path, schema: HabitSchema.current) }
/// plan.inject(Fault(.fail(.full), on: .writes, at: .beforeCommit))
/// ```
///
/// Without a fault it gives the guarantees of the base store. The error ``HabitStoreError/Code/outcomeUnknown`` before the commit is a failed commit
/// that
/// did not happen; after the commit, one that did.
public final class FaultInjectingStore: MaintainableStore, ReplicableStore {
    private let base: any UserStoreBackend
    private let plan: FaultPlan

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - plan: the faults, also of opening.
    ///   - open: opens the base store.
    /// - Throws: the errors of `open` and of the plan.
    public init(_ plan: FaultPlan, path: String? = nil, _ open: () throws -> any UserStoreBackend)
        throws
    {
        try plan.reach(.open, .beginning, path: path)
        base = try open()
        self.plan = plan
    }

    /// The base store's schema.
    public var schema: Schema { base.schema }

    /// The base store's dispatcher, which runs the async forms.
    public var dispatcher: StoreDispatcher { base.dispatcher }

    /// The base store's file.
    public var path: String? { base.path }

    /// Runs `body` in a read transaction of the base store.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(body)
    }

    /// Runs `body` in a read transaction of the base store while a condition holds.
    @_spi(Engines) public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws
        -> R
    {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(while: condition, body)
    }

    /// Runs `body` in a write transaction of the base store.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try write(author: author, under: WriteTerms(), body)
    }

    /// The async form, on the store's own thread.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// The async form, on the store's own thread.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    /// Runs `body` in a read transaction of the base store, for replication.
    @_spi(Engines) public func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try plan.reach(.replicaRead, .beginning, path: path)
        return try base.replicaRead(body)
    }

    /// Runs `body` in a write transaction of the base store, for replication.
    @_spi(Engines) public func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R {
        try plan.reach(.replicate, .beginning, path: path)
        let result = try base.replicate { transaction in
            let result = try body(transaction)
            try plan.reach(.replicate, .beforeCommit, path: path)
            return result
        }
        try plan.reach(.replicate, .afterCommit, path: path)
        return result
    }

    /// Runs `body` in a write transaction of the base store, under terms.
    @discardableResult
    @_spi(Engines) public func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try plan.reach(.write, .beginning, path: path)
        var faulty = terms
        // A fault at the commit concerns this write alone.
        faulty.mayShareCommit = false
        faulty.willCommit = { [plan, path] replica, transaction in
            try terms.willCommit?(replica, transaction)
            try plan.reach(.write, .beforeCommit, path: path)
        }
        let result = try base.write(author: author, under: faulty, body)
        try plan.reach(.write, .afterCommit, path: path)
        return result
    }

    /// Checks the base store.
    public func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    /// Compares the base store's digests with its records.
    public func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    /// Rebuilds the base store's digests.
    public func rebuildDigests() throws { try base.rebuildDigests() }

    /// Runs a migration stage on the base store.
    public func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    /// Backs up the base store.
    public func backup(to path: String) throws { try base.backup(to: path) }

    /// Closes the base store.
    public func close() { base.close() }
}

/// A fault in a store: where, when and how it strikes.
public struct Fault: Sendable, CustomStringConvertible {
    /// An operation of a store.
    public enum Operation: String, Sendable, CaseIterable {
        /// Opening the file.
        case open
        /// A read transaction of the app.
        case read
        /// A read transaction of replication.
        case replicaRead
        /// A write transaction of the app.
        case write
        /// A write transaction of replication.
        case replicate
    }

    /// The moment of a fault. Reads and opening have only a beginning.
    public enum Moment: String, Sendable {
        /// Before the operation has done anything.
        case beginning
        /// Immediately before a write transaction commits: none of it has happened.
        case beforeCommit
        /// After a write transaction has committed, before its caller knows.
        case afterCommit
    }

    /// The effect of a fault.
    public enum Effect: Sendable, Equatable {
        /// The operation throws an error with this code.
        case fail(HabitStoreError.Code)
        /// The operation hangs until ``FaultPlan/heal()`` and then continues.
        case hang
    }

    /// The operations that it strikes.
    public let operations: Set<Operation>
    /// When it strikes.
    public let moment: Moment
    /// Its effect.
    public let effect: Effect
    /// How many matching operations pass before it strikes.
    public let passing: Int
    /// How many operations it strikes; nil for all until ``FaultPlan/heal()``.
    public let times: Int?

    /// Describes a fault.
    ///
    /// - Parameters:
    ///   - effect: what the fault does.
    ///   - operations: the operations that it strikes.
    ///   - moment: when it strikes.
    ///   - passing: how many matching operations pass before it strikes.
    ///   - times: how many operations it strikes; nil for all.
    public init(
        _ effect: Effect,
        on operations: Set<Operation>,
        at moment: Moment = .beginning,
        passing: Int = 0,
        times: Int? = nil
    ) {
        self.effect = effect
        self.operations = operations
        self.moment = moment
        self.passing = passing
        self.times = times
    }

    /// The fault in one line.
    public var description: String {
        let what =
            switch effect {
            case .fail(let code): code.rawValue
            case .hang: "hang"
            }
        let names = operations.map(\.rawValue).sorted().joined(separator: ", ")
        let first = passing > 0 ? "after \(passing) of them, " : ""
        return "\(what) at \(moment.rawValue) of \(names), \(first)\(times.map { "\($0) times" } ?? "for ever")"
    }
}

extension Set<Fault.Operation> {
    /// Reads of either kind.
    public static let reads: Self = [.read, .replicaRead]
    /// Writes of either kind.
    public static let writes: Self = [.write, .replicate]
    /// All operations.
    public static let all = Self(Fault.Operation.allCases)
}

/// The faults of a ``FaultInjectingStore``, which a test controls while the store is in use.
///
/// Several stores may share one plan, and it outlives them: a store that is closed and opened again stays broken.
public final class FaultPlan: Sendable {
    private struct Armed {
        let fault: Fault
        var left: Int?
        var toPass: Int
    }

    private struct State {
        var faults: [Armed] = []
        var strikes = 0
        var hanging = 0
        /// Incremented by each healing; an operation hangs until it changes.
        var generation = 0
    }

    private let changed = NSCondition()
    /// Guarded by ``changed``.
    private nonisolated(unsafe) var state = State()

    /// Makes a plan without faults.
    public init() {}

    /// Adds a fault. If several match an operation, the oldest strikes.
    public func inject(_ fault: Fault) {
        changed.withLock { state.faults.append(Armed(fault: fault, left: fault.times, toPass: fault.passing)) }
    }

    /// Removes all faults. Hanging operations continue.
    public func heal() {
        changed.withLock {
            state.faults = []
            state.generation += 1
            changed.broadcast()
        }
    }

    /// How many operations a fault has struck so far.
    public var strikes: Int { changed.withLock { state.strikes } }

    /// How many operations hang now.
    public var hanging: Int { changed.withLock { state.hanging } }

    /// Waits until faults have struck `count` operations.
    ///
    /// - Returns: whether they did within `seconds`.
    public func waitForStrikes(_ count: Int, seconds: Double) -> Bool {
        changed.lock()
        defer { changed.unlock() }
        let deadline = Date(timeIntervalSinceNow: seconds)
        while state.strikes < count {
            guard changed.wait(until: deadline) else { return false }
        }
        return true
    }

    /// Reports that an operation has reached a moment.
    ///
    /// - Throws: the error of the fault that strikes.
    func reach(_ operation: Fault.Operation, _ moment: Fault.Moment, path: String?) throws {
        changed.lock()
        defer { changed.unlock() }
        guard let fault = take(operation, moment) else { return }
        state.strikes += 1
        changed.broadcast()
        switch fault.effect {
        case .fail(let code):
            throw HabitStoreError(
                code,
                "injected: \(operation.rawValue) failed at \(moment.rawValue)",
                at: .init(path: path),
                isDamage: code == .corrupt
            )
        case .hang:
            let generation = state.generation
            state.hanging += 1
            while state.generation == generation { changed.wait() }
            state.hanging -= 1
        }
    }

    /// The fault that strikes; call it only while ``changed`` is locked.
    private func take(_ operation: Fault.Operation, _ moment: Fault.Moment) -> Fault? {
        let index = state.faults.firstIndex { armed in
            armed.left != 0 && armed.fault.moment == moment && armed.fault.operations.contains(operation)
        }
        guard let index else { return nil }
        guard state.faults[index].toPass == 0 else {
            state.faults[index].toPass -= 1
            return nil
        }
        if let left = state.faults[index].left { state.faults[index].left = left - 1 }
        return state.faults[index].fault
    }
}

/// Work that may hang, started immediately on its own thread. A child task would start only when the cooperative pool gets to it, and a caller that
/// fails meanwhile would wait for it before it releases anything that hangs.
package final class BegunWork<R: Sendable>: Sendable {
    private struct State {
        var result: Result<R, any Error>?
        var waiting: CheckedContinuation<R, any Error>?
    }

    private let state = Mutex(State())

    /// Starts the work.
    package init(_ body: @escaping @Sendable () throws -> R) {
        Thread.detachNewThread { [self] in
            let result = Result { try body() }
            let waiting = state.withLock { state in
                state.result = result
                return state.waiting
            }
            waiting?.resume(with: result)
        }
    }

    /// Waits for the result; call it only once.
    package func value() async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<R, any Error>? in
                if state.result == nil { state.waiting = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
