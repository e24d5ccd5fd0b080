import Foundation
@_spi(Engines) import HabitStore

/// Finds out where a user is, and moves the user to another stage. The caller holds the lock of the user's switches, or carries out a kill past a
/// process that holds the lock and does not continue.
///
/// The lock saves work; epochs keep two moves apart. A move claims the next epoch in the control file before it changes anything, and changes a store
/// only if its role and epoch are still those that the move has seen. A process that was suspended finds its epoch passed, and a write in a passed
/// epoch is acknowledged only after checking the store that serves by then.
///
/// The authoritative store itself records its role, with the stage and an epoch that each move raises. A move that changes the authoritative store
/// seals it, so that no process writes to it any more, brings the other one to its token, and gives that the role with the next epoch: at this moment
/// the move happens. After a kill before it, the sealed store gets its role back; after a kill later, the rest is made up for.
/// ``recover(_:isKilled:)`` does both.
///
/// While both stores are kept equal, the old one is always written first: it has everything that was ever acknowledged or shown, and is the way back
/// even if the new one becomes unreadable. It *claims* to have everything: by being sealed, or by being on standby at a stage that awaits the mirror.
/// A move that lets the new store run ahead (`complete`) removes the claim first.
struct StageSwitch {
    let pair: StorePair
    let control: ControlFile
    /// The time limit for one step of a store.
    let stepLimitSeconds: Double
    /// Whether the lock of the switches was passed by.
    var isPassing = false
    /// Whether to read and correct both stores even if one of them decides.
    var observesBoth = false

    static let firstEpoch = 1

    // MARK: Steps

    /// The status of a store, within the time limit.
    func status(_ engine: EngineName) throws -> ReplicaStatus? {
        try step(engine) { [pair] in try pair.status(engine) }
    }

    /// Gives a store a role, in a transaction that notices another process's move.
    ///
    /// - Parameter place: the role and epoch that the store must have; otherwise nothing is changed.
    func set(
        _ engine: EngineName,
        _ role: StoreRole,
        epoch: Int,
        _ state: RolloutState,
        expecting place: StorePlace
    ) throws {
        if role == .authoritative { control.raise(epoch) }
        let text = try pair.text(of: state)
        do {
            try change(engine, expecting: place) { replica, _ in
                try replica.setRole(role, epoch: epoch)
                try replica.setRolloutState(text)
            }
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            // The failed commit may have happened: a new transaction finds out.
            let recovered = try step(engine) { [pair] in
                try pair.store(engine).replicate { try pair.status(engine, $0) }
            }
            guard recovered.role == role, recovered.epoch == epoch, recovered.state == state else { throw error }
        } catch let error as HabitStoreError where error.code == .busy {
            // The timed-out commit may also have happened, and the hung store may answer reads: one short read finds out.
            let seconds = min(stepLimitSeconds, Self.pollSeconds)
            let now = try? Deadline.run(seconds: seconds, path: pair.address(engine).path) { [pair] _ in
                try pair.status(engine)
            }
            guard let now, now.role == role, now.epoch == epoch, now.state == state else { throw error }
        }
    }

    private static let pollSeconds = 0.5

    /// Changes a store in a transaction that notices another process's move.
    ///
    /// - Parameter place: the role and epoch that the store must have; otherwise nothing is changed.
    func change(
        _ engine: EngineName,
        expecting place: StorePlace,
        _ body: @escaping @Sendable (any ReplicaTransaction, StoreInformation) throws -> Void
    ) throws {
        try step(engine) { [pair] in
            try pair.store(engine).replicate { replica in
                let information = try replica.information()
                guard StorePlace(role: information.role, epoch: information.epoch) == place else {
                    throw Self.overtaken(pair.directory)
                }
                try body(replica, information)
            }
        }
    }

    /// The error of a move that finds the user moved by another process.
    static func overtaken(_ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the user's stores have been switched meanwhile; try again",
            at: .init(path: directory.path),
            underlying: Overtaken()
        )
    }

    /// Marks the error of a move that another one overtook: a caller that only reads may try again.
    struct Overtaken: Error {}

    /// Brings a store to another one's token. Meanwhile no process may write to the source, except one that writes both.
    ///
    /// - Parameter spansWrites: whether writes go to both stores, in transactions of the source that contain those of the target.
    /// - Throws: an error if the source's history does not reach back far enough, the stores have diverged, or one makes no progress for the time of
    ///   a step.
    func drain(_ source: EngineName, into target: EngineName, spansWrites: Bool = false) throws {
        try step(target) { [pair] progress in
            let to = try pair.store(target)
            // Writers of both are kept out before the source is read. Otherwise a running write could end in between and another one follow it, or it
            // could have reached the target and not yet the source.
            if spansWrites {
                let from = try pair.store(source)
                try StorePair.requireOneVersion(from, to)
                try from.replicate { from in
                    try to.replicate { try drain(from, into: $0, target, progress) }
                }
            } else {
                try to.replicate { replica in
                    try pair.read(source) { from, _ in
                        try StorePair.requireOneVersion(from, to)
                        try from.replicaRead { try drain($0, into: replica, target, progress) }
                    }
                }
            }
        }
        CrashPoint.reach("switch.drained")
    }

    private func drain(
        _ source: any ReplicaSnapshot,
        into replica: any ReplicaTransaction,
        _ target: EngineName,
        _ progress: Deadline.Progress
    ) throws {
        let information = try replica.information()
        let origin = try source.information()
        guard information.lineage == origin.lineage, information.token <= origin.token,
            information.role != .backfilling,
            try Replication.agree(source, replica, at: information.token)
        else { throw Self.parted(pair.address(target)) }
        guard information.token < origin.token else { return }
        _ = try Replication.carry(
            from: source,
            origin,
            to: replica,
            information,
            schema: pair.schema,
            progress: progress.advance
        )
    }

    func step<R: Sendable>(_ engine: EngineName, _ body: @escaping @Sendable () throws -> R) throws -> R {
        try step(engine) { _ in try body() }
    }

    /// A step of unknown length, which may continue as long as it makes progress.
    func step<R: Sendable>(
        _ engine: EngineName,
        _ body: @escaping @Sendable (Deadline.Progress) throws -> R
    ) throws -> R {
        try Deadline.run(seconds: stepLimitSeconds, path: pair.address(engine).path, body)
    }

    static func parted(_ address: StoreAddress) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the store has another history than the current store; set its file aside, and the next "
                + "copy makes a new one",
            at: .init(path: address.path)
        )
    }
}

/// Compares where a user is with what the flags want: whether the user goes back, by which way, and why not otherwise.
struct WayBack {
    private let actual: ActualStage
    private let wanted: WantedStage

    init(_ actual: ActualStage, _ wanted: WantedStage) { (self.actual, self.wanted) = (actual, wanted) }

    private var state: RolloutState { actual.state }

    /// Whether the flags concern the rollout that the user is in.
    private var isThisRollout: Bool { wanted.stage != nil && wanted.engines == state.engines }

    private var isWantedBack: Bool {
        guard isThisRollout, let stage = wanted.stage else { return false }
        return stage < actual.stage
    }

    /// Whether the next operation takes the user to the wanted stage, at which the old store follows and is current.
    var isFollowed: Bool {
        isWantedBack && actual.stage != .complete && (!wanted.isBucketed || state.placedBy == .rule)
    }

    /// Whether the next opening brings the old store up to date and takes the user to it.
    var isDirect: Bool {
        isWantedBack && wanted.isDirect && actual.stage.authority == .new
            && (!wanted.isBucketed && !wanted.isBackendBucketed || state.placedBy == .rule)
    }

    /// Why the user stays at a later stage than the flags want; nil if the user is not, or goes back.
    var stays: GateReason? {
        guard isWantedBack, !isFollowed, !isDirect, let stage = wanted.stage else { return nil }
        let isAtTheEnd = actual.stage == .complete && !wanted.isDirect
        return .notTakenBack(
            wanted: stage,
            because: isAtTheEnd ? .complete : state.placedBy == nil ? .unknownPlacement : .percentage
        )
    }

    /// Why the user is at a later stage than the flags want; nil otherwise.
    ///
    /// - Parameter flags: identifies these flags in the user's state, if they have put the user directly on another engine.
    func delay(_ flags: String) -> GateReason? {
        guard isWantedBack, let stage = wanted.stage else { return nil }
        if let stays { return stays }
        let isRefused = !isFollowed && state.hasSwapped(by: flags)
        return .notTakenBack(wanted: stage, because: isRefused ? .disagreement : .pending)
    }

    /// The placement for the stores to record, if the flags want the user at this stage or a later one; nil if they already have it.
    var placement: (stage: Placement?, engines: Placement?)? {
        guard isThisRollout, let stage = wanted.stage else { return nil }
        let isConfirmed = actual.stage > .off && stage >= actual.stage
        let found = (
            stage: isConfirmed ? wanted.placement : state.placedBy,
            engines: wanted.pairedBy
        )
        return found == (state.placedBy, state.pairedBy) ? nil : found
    }
}

/// Whether the engines swap roles, or another rollout begins: what the flags want for a user served by only one engine.
struct EngineSwap {
    private let actual: ActualStage
    private let wanted: WantedStage

    init(_ actual: ActualStage, _ wanted: WantedStage) { (self.actual, self.wanted) = (actual, wanted) }

    private var state: RolloutState { actual.state }
    private var isAtAnEnd: Bool { actual.stage == .off || actual.stage == .complete }

    /// Whether a percentage names other engines for a user whose engines a percentage chose.
    var isRebucketed: Bool { wanted.pairedBy == .percentage && state.pairedBy == .percentage }

    /// Whether the flags name other engines, or other roles for them, for a user for whom that can matter now.
    var isProposed: Bool {
        wanted.isAnswered && state.engines != wanted.engines
            && (isAtAnEnd || state.engines.isOther(than: wanted.engines))
    }

    /// Whether to do it. The wanted engines must be those of the rollout, or continue from the user's engine after its other store is gone; a store
    /// of an engine that this program lacks may still exist.
    ///
    /// - Parameters:
    ///   - known: the engines of this program.
    ///   - identity: the identity of the flag files.
    ///   - exists: whether the user has a store of an engine.
    func isDue(_ known: Engines, identity: String, _ exists: (EngineName) -> Bool) -> Bool {
        guard isProposed, isAtAnEnd, !isRebucketed, !state.isKilled, !state.hasSwapped(by: identity) else {
            return false
        }
        return !state.engines.isOther(than: wanted.engines)
            || wanted.engines.contains(actual.engine) && known.contains(actual.other) && !exists(actual.other)
    }

    /// Why it is not done, in one line.
    var refusal: String {
        let engines = state.engines
        let reason =
            engines.isOther(than: wanted.engines)
            ? "the user's rollout is between \(engines.old.rawValue) and \(engines.new.rawValue); another one begins "
                + "when it is over and the old store is gone"
            : state.isKilled
                ? "the user was killed and is not taken to \(state.fled?.rawValue ?? "the other engine") before a re-arm"
                : isRebucketed
                    ? "a percentage chose the user's engines, and one that has changed since does not move the user"
                    : "flag files disagree: others have put the user here since these did"
        return
            "stays on \(actual.engine.rawValue), though \(wanted.oldKey) is \(wanted.engines.old.rawValue): \(reason)"
    }
}
