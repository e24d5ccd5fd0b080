import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// Everything that exists only while a user's files are open: made by opening, dropped by closing.
///
/// Each operation asks two atomic numbers whether anything may have changed: one that the flag files move, and one that all
/// processes share for this user. Only when one of them has is the lock of the user's switches taken and looked again. The
/// stage is looked at once per operation: an operation that has begun is finished by the store that it began on.
final class OpenUser: Sendable {
    /// What is guarded by the lock within this process.
    struct State {
        var wanted: WantedStage?
        var notes: [String] = []
        /// What follows the authoritative store, in the stages that have it.
        var mirror: Mirror?
    }

    let context: UserContext
    /// The user's stores. What was left to itself opens none of another opening's.
    let pair: StorePair
    let leases: Leases
    /// Takes the user back whose stores were found to differ, also where the files were closed meanwhile.
    let takesBack: @Sendable () throws -> Void
    let state = Mutex(State())
    /// The control file, as soon as it is mapped.
    private let mapped = Mutex<ControlFile?>(nil)
    private let revision: FlagWatch.Revision
    /// None of the flags' revisions.
    static let unchecked = 0
    /// The flags' revision at which the route was found right.
    let checkedRevision = Atomic<Int>(OpenUser.unchecked)
    /// How many copies are being made that need the history to stay as it is.
    let historyReaders = Atomic<Int>(0)
    let advancer = Mutex<Ticker?>(nil)
    /// Whether the store that was left has been looked at in the background.
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

    /// The control file, once it is mapped.
    var control: ControlFile? { mapped.withLock { $0 } }

    // MARK: The way

    /// The user was moved before the operation began: it looks for its way anew.
    struct Rerouted: Error {}

    /// How often an operation looks for its way anew before it gives up: each time somebody has moved the user meanwhile.
    static let maximumAttempts = 1_000

    /// The route in force, within an operation: two atomic loads, while nothing changes.
    func currentRoute() throws -> Route {
        if let route = leases.load(), isInForce(route) { return route }
        return try reroute()
    }

    @inline(__always)
    private func isInForce(_ route: Route) -> Bool {
        route.condition.holds
            && revision.number.load(ordering: .acquiring) == checkedRevision.load(ordering: .acquiring)
    }

    /// Makes the next operation look for its way anew, unless that has happened.
    func forget(_ route: Route) {
        if leases.load() === route { leases.store(nil) }
    }

    /// What an operation fails with that found the user moved again and again.
    func unsteady() -> HabitStoreError {
        HabitStoreError(
            .busy,
            "the user was moved again and again while the operation looked for its store; try again",
            at: .init(path: directory.path)
        )
    }

    /// The control file that stands in the user's folder now; only while ``state`` is locked.
    func standingControl() throws -> ControlFile {
        if let control {
            if control.isInPlace { return control }
            // The folder was moved away, or another one was put in its place: so were the stores.
            pair.release()
            control.leave()
        }
        let control = try ControlFile(path: directory.path + "/control")
        mapped.withLock { $0 = control }
        return control
    }

    /// Leaves the control file, so that the next look maps what stands there then; only while ``state`` is locked.
    func forgetControl() {
        control?.leave()
        mapped.withLock { $0 = nil }
    }

    // MARK: What is known

    var mirrorStatus: MirrorStatus {
        guard let route = leases.present else { return .none }
        if let mirror = route.mirror { return mirror.status }
        guard route.writtenFirst != nil else { return .none }
        return route.actual.obstacle.map { .lagging(since: route.actual.token, $0) } ?? .current(route.actual.token)
    }

    /// Whether nothing is being carried over or compared.
    var isAtRest: Bool {
        let route = leases.present
        return route?.mirror?.isAtRest != false && route?.shadow?.isAtRest != false
    }

    // MARK: The evidence

    /// Where events happen now.
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

    /// - Throws: ``HabitStoreError/Code/closed`` when the app has closed the store.
    func requireOpen() throws { if isEnded { throw Self.closed(directory) } }

    /// What an operation of a store fails with that the app has closed.
    static func closed(_ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(.closed, "the user's store was closed; open it again", at: .init(path: directory.path))
    }

    /// Whether an error says that a store was closed while the user was not: its file was replaced, and the next operation is
    /// for the one that is there now.
    func isLeft(by error: HabitStoreError) -> Bool { error.code == .closed && !isEnded }

    /// Brings what was counted and compared to the disk.
    func flush() {
        leases.present?.shadow?.flush()
        anchorEvidence()
    }

    /// Closes the files, after what the mirror is doing, whoever is at work: operations fail from here on.
    func end() {
        // A move that is under way is not cut off in its middle, and none begins later.
        state.withLock { _ in ended.store(true, ordering: .releasing) }
        advancer.withLock { $0 = nil }
        if let route = leases.present {
            if let mirror = route.mirror {
                // A copy that another process makes goes on without this one.
                if !mirror.isAtRest { _ = mirror.settle(waitSeconds: options.mirror.closingWaitSeconds) }
                mirror.stop()
            }
            route.shadow?.drain(seconds: options.mirror.closingWaitSeconds)
            flush()
        }
        leases.store(nil)
        pair.close()
        control?.leave()
    }

    /// Closes the files, which nobody uses. A disk that hangs holds nobody up.
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
