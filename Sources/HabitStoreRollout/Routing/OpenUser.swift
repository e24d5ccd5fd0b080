import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// Everything that exists only while a user's files are open: made by opening, dropped by closing.
///
/// Each operation checks two atomic numbers to find out whether anything may have changed: one that changes with the flags, and one that all
/// processes share for this user. Only if one has changed is the lock of the user's switches taken to check. The stage is read once per operation:
/// the store on which an operation began also finishes it.
final class OpenUser: Sendable {
    /// The state guarded by the lock within this process.
    struct State {
        var wanted: WantedStage?
        var notes: [String] = []
        /// The mirror, at the stages that have one.
        var mirror: Mirror?
    }

    let context: UserContext
    /// The user's stores. An abandoned step of one opening never opens stores of another.
    let pair: StorePair
    let leases: Leases
    /// Takes back a user whose stores were found to differ, even after the files were closed.
    let takesBack: @Sendable () throws -> Void
    let state = Mutex(State())
    /// The control file, once it is mapped.
    private let mapped = Mutex<ControlFile?>(nil)
    private let revision: FlagWatch.Revision
    /// Not a revision of the flags.
    static let unchecked = 0
    /// The flags' revision for which the route was last checked.
    let checkedRevision = Atomic<Int>(OpenUser.unchecked)
    /// The number of running copies that need the history to stay.
    let historyReaders = Atomic<Int>(0)
    let advancer = Mutex<Ticker?>(nil)
    /// Whether the user's former store was checked in the background.
    let hasSeenLeftStore = Atomic<Bool>(false)
    private let ended = Atomic<Bool>(false)

    init(_ context: UserContext, _ leases: Leases, takesBack: @escaping @Sendable () throws -> Void) {
        (self.context, self.leases, self.takesBack) = (context, leases, takesBack)
        revision = context.flags.counter
        pair = StorePair(
            directory: context.directory,
            schema: context.schema,
            engines: context.engines,
            versions: context.versions
        )
    }

    var directory: UserDirectory { context.directory }
    var options: RolloutOptions { context.options }
    var flags: FlagWatch { context.flags }

    var control: ControlFile? { mapped.withLock { $0 } }

    // MARK: The route

    /// The user was moved before the operation began: it looks up its route again.
    struct RouteChanged: Error {}

    /// How often an operation looks up its route again before it gives up; each time, the user was moved meanwhile.
    static let maximumAttempts = 1_000

    /// The route in force, within an operation: two atomic loads if nothing has changed.
    func currentRoute() throws -> Route {
        if let route = leases.load(), isInForce(route) { return route }
        return try refreshRoute()
    }

    @inline(__always)
    private func isInForce(_ route: Route) -> Bool {
        route.condition.holds
            && revision.number.load(ordering: .acquiring) == checkedRevision.load(ordering: .acquiring)
    }

    /// Makes the next operation look up its route again, unless that has already happened.
    func forget(_ route: Route) {
        if leases.load() === route { leases.store(nil) }
    }

    /// The error of an operation that found the user moved too many times.
    func unsteady() -> HabitStoreError {
        HabitStoreError(
            .busy,
            "the user was moved again and again while the operation looked for its store; try again",
            at: .init(path: directory.path)
        )
    }

    /// The control file that is in the user's folder now; only while ``state`` is locked.
    func openControl() throws -> ControlFile {
        if let control {
            if control.isInPlace { return control }
            // The folder was moved or replaced, and the stores with it.
            pair.release()
            control.leave()
        }
        let control = try ControlFile(path: directory.path + "/control")
        mapped.withLock { $0 = control }
        return control
    }

    /// Releases the control file, so that the next access maps the file that is there then; only while ``state`` is locked.
    func forgetControl() {
        control?.leave()
        mapped.withLock { $0 = nil }
    }

    // MARK: Status

    var mirrorStatus: MirrorStatus {
        guard let route = leases.present else { return .none }
        if let mirror = route.mirror { return mirror.status }
        guard route.writtenFirst != nil else { return .none }
        return route.actual.obstacle.map { .lagging(since: route.actual.token, $0) } ?? .current(route.actual.token)
    }

    /// Whether no write is being carried over and no read compared.
    var isAtRest: Bool {
        let route = leases.present
        return route?.mirror?.isAtRest != false && route?.shadow?.isAtRest != false
    }

    // MARK: The evidence

    /// The scene for events that happen now.
    var scene: EvidenceRecorder.Scene { .init(pair: pair, control: control, actual: leases.present?.actual) }

    @discardableResult
    func record(_ events: [EvidenceEvent], isUrgent: Bool = false) -> Bool {
        context.evidence.record(events, in: scene, isUrgent: isUrgent)
    }

    func recordDifference(_ event: EvidenceEvent) { context.evidence.recordDifference(event, in: scene) }

    func checkpointEvidence(_ actual: ActualStage) { context.evidence.checkpoint(actual, in: scene) }

    func anchorEvidence() { context.evidence.anchor(in: scene) }

    // MARK: Closing

    /// Whether the app has closed the user's store.
    var isEnded: Bool { ended.load(ordering: .acquiring) }

    /// - Throws: ``HabitStoreError/Code/closed`` if the app has closed the store.
    func requireOpen() throws { if isEnded { throw Self.closed(directory) } }

    /// The error of an operation on a store that the app has closed.
    static func closed(_ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(.closed, "the user's store was closed; open it again", at: .init(path: directory.path))
    }

    /// Whether an error says that a store was closed, but not the user: its file was replaced, and the next operation uses the new one.
    func isLeft(by error: HabitStoreError) -> Bool { error.code == .closed && !isEnded }

    /// Writes the outcomes of comparisons to the evidence, and reports them to the stores.
    func flush() {
        leases.present?.shadow?.flush()
        anchorEvidence()
    }

    /// Closes the files after the mirror's current step, even during operations, which fail from here on.
    func end() {
        // Waits for a running move; none begins later.
        state.withLock { _ in ended.store(true, ordering: .releasing) }
        advancer.withLock { $0 = nil }
        if let route = leases.present {
            if let mirror = route.mirror {
                // A copy by another process continues without this one.
                if !mirror.isAtRest { _ = mirror.waitUntilIdle(waitSeconds: options.mirror.closingWaitSeconds) }
                mirror.stop()
            }
            route.shadow?.drain(seconds: options.mirror.closingWaitSeconds)
            flush()
        }
        leases.store(nil)
        pair.close()
        control?.leave()
    }

    /// Closes the unused files. Waits only a limited time for a disk that hangs.
    func drop() {
        advancer.withLock { $0 = nil }
        state.withLock { state in
            state.mirror?.stop()
            state.mirror = nil
        }
        defer { control?.leave() }
        do {
            try Deadline.run(seconds: options.stepLimitSeconds, path: directory.path) { [pair] _ in pair.close() }
        } catch {
            options.logger.warning("a user's stores are being closed still: \(error)")
        }
    }
}

/// Counts the users of a user's open files, and holds the route in force.
///
/// An operation begins with one atomic addition, ends with one subtraction, and reads the route in between, without a lock or an allocation. Replaced
/// routes are released when no operation is running: later operations have read their successor.
///
/// The same count decides whether the user's stores may be closed. Closing is one compare-and-swap from a count of zero, so it never happens during
/// an operation, and later operations notice it before they read the route.
final class Leases: Sendable {
    /// The user's stores are closed.
    private static let shut: UInt64 = 1 << 63
    /// There was an operation since this bit was last cleared.
    private static let used: UInt64 = 1 << 62
    /// There are replaced routes that were not released yet.
    private static let replaced: UInt64 = 1 << 61
    /// The number of running operations.
    private static let count: UInt64 = replaced - 1

    private struct Kept {
        var user: OpenUser?
        var current: Route?
        var replaced: [Route] = []
    }

    private let word = Atomic<UInt64>(Leases.shut)
    private let user = Atomic<Unmanaged<OpenUser>?>(nil)
    private let current = Atomic<Unmanaged<Route>?>(nil)
    private let kept = Mutex(Kept())

    // MARK: Operations

    /// Begins an operation.
    ///
    /// - Parameter open: opens the user's stores if they are closed.
    /// - Returns: a lease, which keeps the user's stores open as long as it lives.
    @inline(__always)
    func begin(_ open: () throws -> OpenUser) rethrows -> Lease {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        if before & Self.used == 0 { word.bitwiseOr(Self.used, ordering: .relaxed) }
        if before & Self.shut == 0, let user = user.load(ordering: .acquiring) {
            return Lease(self, user.takeUnretainedValue())
        }
        do {
            return Lease(self, try open())
        } catch {
            end()
            throw error
        }
    }

    /// The same for background work, which does not open the stores or keep them open; nil while they are closed.
    func beginWork() -> Lease? {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        guard before & Self.shut == 0, let user = user.load(ordering: .acquiring) else {
            end()
            return nil
        }
        return Lease(self, user.takeUnretainedValue(), leavesNoMark: before & Self.used == 0)
    }

    /// Ends an operation.
    ///
    /// - Parameter leavesNoMark: whether the operation does not count as use.
    @inline(__always)
    fileprivate func end(leavesNoMark: Bool = false) {
        if leavesNoMark { word.bitwiseAnd(~Self.used, ordering: .relaxed) }
        let after = word.subtract(1, ordering: .sequentiallyConsistent).newValue
        if after & (Self.replaced | Self.count) == Self.replaced { letGo() }
    }

    /// The route in force; only within an operation.
    @inline(__always)
    func load() -> Route? { current.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue() }

    // MARK: Changing

    /// The route in force, for callers outside an operation.
    var present: Route? { kept.withLock { $0.current } }

    /// The user who is open, being opened or being closed, for callers outside an operation.
    var openUser: OpenUser? { kept.withLock { $0.user } }

    /// Sets the user who is being opened; operations find the stores closed until ``open()``.
    func install(_ user: OpenUser) {
        kept.withLock { kept in
            kept.user = user
            self.user.store(Unmanaged.passUnretained(user), ordering: .releasing)
        }
    }

    /// Replaces the route in force.
    func store(_ route: Route?) {
        kept.withLock { kept in
            if let old = kept.current {
                kept.replaced.append(old)
                word.bitwiseOr(Self.replaced, ordering: .relaxed)
            }
            kept.current = route
            current.store(route.map { Unmanaged.passUnretained($0) }, ordering: .sequentiallyConsistent)
        }
    }

    /// Releases the replaced routes, unless an operation is running, which may have begun before the last replacement.
    private func letGo() {
        let unused = kept.withLock { kept -> [Route] in
            guard word.load(ordering: .sequentiallyConsistent) & Self.count == 0 else { return [] }
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            defer { kept.replaced = [] }
            return kept.replaced
        }
        // Outside the lock, since it may close what only the routes still held.
        _ = consume unused
    }

    // MARK: Opening and closing

    /// Whether the user's stores are closed.
    var isShut: Bool { word.load(ordering: .acquiring) & Self.shut != 0 }

    /// Whether the stores are unused now, and were since the last call.
    func isUnused() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.count) == 0 else { return false }
        guard word & Self.used != 0 else { return true }
        self.word.bitwiseAnd(~Self.used, ordering: .relaxed)
        return false
    }

    /// Marks the stores as closed, unless an operation is running.
    func shut() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.used | Self.count) == 0 else { return false }
        return self.word.compareExchange(
            expected: word,
            desired: Self.shut,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Releases everything that was open; only while no operation is running or can begin.
    func clear() {
        let unused = kept.withLock { kept in
            current.store(nil, ordering: .sequentiallyConsistent)
            user.store(nil, ordering: .releasing)
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            return exchange(&kept, with: Kept())
        }
        _ = consume unused
    }

    /// Marks the stores as open.
    func open() { word.bitwiseAnd(~Self.shut, ordering: .sequentiallyConsistent) }
}

/// Keeps a user's stores open; the operation ends with it.
struct Lease: ~Copyable {
    private let leases: Leases
    let user: OpenUser
    private let leavesNoMark: Bool

    fileprivate init(_ leases: Leases, _ user: OpenUser, leavesNoMark: Bool = false) {
        (self.leases, self.user, self.leavesNoMark) = (leases, user, leavesNoMark)
    }

    deinit { leases.end(leavesNoMark: leavesNoMark) }
}

/// Where a user's operations go, at one stage and epoch. A new route is made when the stage changes; a route never changes.
final class Route: Sendable {
    /// True while the control file says that the user is at this stage and epoch.
    let condition: ReadCondition
    let actual: ActualStage
    /// The store that answers, and takes writes first-hand.
    let authority: any UserStoreBackend
    /// The store that must commit before the authoritative one, at stages that write both.
    let writtenFirst: (any UserStoreBackend)?
    /// The mirror, at stages where a write is acknowledged without it.
    let mirror: Mirror?
    /// Compares reads, at stages that do.
    let shadow: ShadowReader?
    /// Why writes are refused; nil if they are not.
    let refusal: HabitStoreError?
    /// Measures writes; nil if they are not measured.
    let stopwatch: RolloutMetrics.Stopwatch?
    /// Keeps the memory of the condition mapped.
    let control: ControlFile

    /// - Parameter isShared: whether other machines reach the store that answers.
    init(
        _ actual: ActualStage,
        _ control: ControlFile,
        isShared: Bool = false,
        authority: any UserStoreBackend,
        writtenFirst: (any UserStoreBackend)? = nil,
        mirror: Mirror? = nil,
        shadow: ShadowReader? = nil,
        refusal: HabitStoreError? = nil,
        stopwatch: RolloutMetrics.Stopwatch? = nil
    ) {
        condition = control.condition(actual.stage, epoch: actual.epoch, isShared: isShared)
        self.actual = actual
        self.control = control
        self.authority = authority
        self.writtenFirst = writtenFirst
        self.mirror = mirror
        self.shadow = shadow
        self.refusal = refusal
        self.stopwatch = stopwatch
    }

    /// Whether a later epoch was claimed since the route was made, or may have been in another control file than the mapped one. A write under this
    /// route then counts only if the store that serves by then has it.
    var isOvertaken: Bool { !control.isInPlace || control.floor > actual.epoch }
}
