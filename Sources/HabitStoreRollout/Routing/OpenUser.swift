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
    struct Rerouted: Error {}

    /// How often an operation looks up its route again before it gives up; each time, the user was moved meanwhile.
    static let maximumAttempts = 1_000

    /// The route in force, within an operation: two atomic loads if nothing has changed.
    func currentRoute() throws -> Route {
        if let route = leases.load(), isInForce(route) { return route }
        return try reroute()
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
    func standingControl() throws -> ControlFile {
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
