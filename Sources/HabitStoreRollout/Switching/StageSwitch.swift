import Foundation
@_spi(Engines) import HabitStore

/// Finds out where a user is, and moves the user to another stage. The caller holds the lock of the user's switches, unless
/// it takes a user back whom a process that holds the lock and does not go on would keep.
///
/// The lock saves work; what keeps two movers apart are the epochs. A mover claims the next one in the control file before it
/// changes anything, and changes each store only where that is still what the mover has seen. One that slept finds its epoch
/// passed, and no write is acknowledged in an epoch that was passed without a look at what serves by then.
///
/// The store that is authoritative says so itself, with the stage and an epoch that each move raises. A move that changes
/// who is authoritative seals the store that is, so that no process writes to it any more, brings the other one to its
/// token, and gives that the role with the next epoch: this is the moment of the move. Killed before it, the sealed store
/// takes its role again; killed behind it, the rest is made up for. Both is done by ``settle(_:isKilled:)``.
///
/// While both stores are kept equal, the old one is always written first: it holds everything that was ever acknowledged
/// or shown, and is the way back even when the new one cannot be read any more. That it does, it *claims*: by being
/// sealed, or by standing by with a stage that awaits the mirror. Whoever lets the new store run ahead (`complete`) takes
/// the claim away first.
struct StageSwitch {
    let pair: StorePair
    let control: ControlFile
    /// How long a store may take for one step.
    let stepLimitSeconds: Double
    /// Whether the lock of the switches was passed by.
    var isPassing = false
    /// Whether both stores are asked and put right also where one of them is all there is to know.
    var looksAtBoth = false

    static let firstEpoch = 1

    // MARK: Steps

    /// What a store says of itself, within the limit.
    func standing(_ engine: EngineName) throws -> Standing? {
        try step(engine) { [pair] in try pair.standing(engine) }
    }

    /// Gives a store a role, in its own transaction, in which another process's move would be seen.
    ///
    /// - Parameter place: what the store must be, or nothing is done.
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
            // A commit that failed may have happened: a new transaction settles it, and tells.
            let settled = try step(engine) { [pair] in
                try pair.store(engine).replicate { try pair.standing(engine, $0) }
            }
            guard settled.role == role, settled.epoch == epoch, settled.state == state else { throw error }
        } catch let error as HabitStoreError where error.code == .busy {
            // A commit that nobody hears the end of may have happened as well, and a store that hangs then may answer reads: one look
            // tells, and does not wait as long again.
            let seconds = min(stepLimitSeconds, Self.lookSeconds)
            let now = try? Deadline.run(seconds: seconds, path: pair.address(engine).path) { [pair] _ in
                try pair.standing(engine)
            }
            guard let now, now.role == role, now.epoch == epoch, now.state == state else { throw error }
        }
    }

    private static let lookSeconds = 0.5

    /// Changes a store in its own transaction, where another process's move is seen.
    ///
    /// - Parameter place: what the store must be, or nothing is done.
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

    /// What a mover fails with that finds the user moved by another process.
    static func overtaken(_ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the user's stores have been switched meanwhile; try again",
            at: .init(path: directory.path),
            underlying: Overtaken()
        )
    }

    /// Marks the error of a mover that found the user moved by another one: who only looks may look again.
    struct Overtaken: Error {}

    /// Brings a store to another one's token. Nobody may write to the source meanwhile, but who writes both.
    ///
    /// - Parameter spansWrites: whether writes go to both in transactions of the source that span those of the target.
    /// - Throws: when the source's history does not reach back far enough, or the stores have parted.
    ///   Also when one of them does not go on for the time of a step.
    func drain(_ source: EngineName, into target: EngineName, spansWrites: Bool = false) throws {
        try step(target) { [pair] progress in
            let to = try pair.store(target)
            // Who writes to both is kept out before the source is looked at: a write that is in flight may end in between
            // and another one follow it, or it may have reached the target and not yet the source.
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

    /// A step of unknown length, which may take as long as it makes progress.
    func step<R: Sendable>(
        _ engine: EngineName,
        _ body: @escaping @Sendable (Deadline.Progress) throws -> R
    ) throws -> R {
        try Deadline.run(seconds: stepLimitSeconds, path: pair.address(engine).path, body)
    }

    static func parted(_ address: StoreAddress) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the store's records are of another history than the current store's; set its file aside, and the next "
                + "copy makes a new one",
            at: .init(path: address.path)
        )
    }
}
