import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// The end of a rollout: removes the store that a user has left.
///
/// A full verification of copies comes first: the former store, brought up to date only from the serving store's history, against the serving store.
/// Then, under the lock of the user's switches, the gate is asked again, the evidence is written, the store is marked as containing nothing, and its
/// files are removed. If a process dies in between, the next try finishes the removal, or the next way back makes a new copy.
struct Retirement {
    let open: OpenUser

    /// - Parameters:
    ///   - backup: a backup of the former store, verified instead if that store cannot be read.
    ///   - person: who retires the store, for the evidence.
    func run(
        against backup: StoreAddress?,
        by person: String,
        _ progress: (String, Int, Int) -> Void
    ) throws -> RetirementOutcome {
        // Keeps the history that brings the copy up to date.
        open.historyReaders.add(1, ordering: .releasing)
        defer { open.historyReaders.subtract(1, ordering: .releasing) }
        let known = try open.currentRoute().actual
        let isBegun = try isBegun(known)
        let wanted = open.state.withLock { $0.wanted?.stage }
        var decision = try decide(known, wanted, isKilled: open.context.pulledKill != nil, isVerified: false)
        var outcome = RetirementOutcome(decision, known.other, open.pair.address(known.other))
        outcome.isThere = open.pair.mayExist(known.other)
        guard decision.isOpen else {
            // The retention time starts at an evidence line that the stores have acknowledged.
            if decision.reasons.map(\.kind) == ["retentionNotOver"], try evidence(known).since == nil {
                try verify(known, backup, progress)
            }
            return outcome
        }
        guard try open.pair.exists(known.other) else {
            guard try evidence(known).retired == known.other else {
                throw Self.nothingIsLeft(known.other, open.pair.address(known.other))
            }
            outcome.wasRemovedBefore = true
            return outcome
        }
        if !isBegun { try verify(known, backup, progress) }
        try open.move(nil) { look, actual, state in
            decision = try decide(
                actual,
                state.wanted?.stage,
                isKilled: look.pulled != nil,
                isVerified: !isBegun
            )
            guard actual.epoch == known.epoch else { throw StageSwitch.overtaken(open.directory) }
            guard decision.isOpen else { return nil }
            try remove(actual, look.change, by: person, isBegun: isBegun)
            outcome.isRemoved = true
            return nil
        }
        outcome.decision = decision
        guard outcome.isRemoved else { return outcome }
        open.anchorEvidence()
        outcome.leftBeside = try filesBeside(outcome.place)
        return outcome
    }

    /// Files of the user's whose names begin with the store's, but that do not belong to it.
    private func filesBeside(_ place: String) throws -> [String] {
        let stem = URL(fileURLWithPath: place).lastPathComponent + "-"
        return try FileManager.default.contentsOfDirectory(atPath: open.directory.path)
            .filter { $0.hasPrefix(stem) }.sorted()
    }

    static func nothingIsLeft(_ engine: EngineName, _ address: StoreAddress) -> HabitStoreError {
        HabitStoreError(
            .notFound,
            "the user has no \(engine.rawValue) store any more; nothing is left to retire",
            at: .init(path: address.path)
        )
    }

    /// The evidence of the user's stay at a stage.
    private func evidence(_ actual: ActualStage) throws -> StageEvidence {
        let recorder = open.context.evidence
        return try recorder.log.summary(recorder.trust(actual, open.pair)).evidence.at(actual.stage)
    }

    /// Whether a process died after recording the retirement and before removing all files.
    private func isBegun(_ actual: ActualStage) throws -> Bool {
        guard try evidence(actual).retired == actual.other else { return false }
        return (try? open.pair.status(actual.other))?.role == .backfilling
    }

    private func decide(
        _ actual: ActualStage,
        _ wanted: Stage?,
        isKilled: Bool,
        isVerified: Bool
    ) throws -> GateDecision {
        Gate(policy: open.options.gate).decideRetirement(
            from: actual.stage,
            wanted: wanted,
            facts: try open.gateFacts(actual, isKilled: isKilled),
            isVerified: isVerified,
            now: Date()
        )
    }

    // MARK: Verifying

    /// Compares the complete contents of the former and the serving store, and records the outcome as evidence.
    private func verify(
        _ actual: ActualStage,
        _ backup: StoreAddress?,
        _ progress: (String, Int, Int) -> Void
    ) throws {
        // Under the lock, any copies found here were left by a killed process.
        let lock = try TemporaryCopies.retirements.lock(in: open.directory, waitSeconds: open.options.lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        let (engines, schema) = (open.context.engines, open.context.schema)
        let copies = try RetiredCopies(open.directory, engines)
        defer { copies.remove() }
        let given = try backup.flatMap { try readable($0, actual) }
        defer { given?.close() }
        let places = TemporaryCopies.retirements.copies
        // The former store first: copied last, it could be ahead.
        let left = try copies.add(
            given ?? open.pair.store(actual.other),
            of: given == nil ? actual.other : backup?.engine ?? actual.other,
            as: places[0],
            schema
        )
        defer { left.close() }
        let serving = try copies.add(open.pair.store(actual.engine), of: actual.engine, as: places[1], schema)
        defer { serving.close() }
        try bringUp(left, to: serving, progress)
        let names = (
            "\(actual.engine.rawValue) (current)", "\(given == nil ? actual.other.rawValue : "the backup") (left)"
        )
        let report = try open.context.verification(serving, left, named: names).run {
            progress($0.level, $0.done, $0.total)
        }
        open.record(report, of: actual)
        open.anchorEvidence()
    }

    /// The backup to verify instead of the former store, if that cannot be read; nil if it can.
    ///
    /// A copy of the serving store would prove nothing. Copies by `habitstore copy` are on standby, too, but only the rollout gives a store the state that
    /// says whose it is, on which side, and at which stage. A backup from before the move to `complete` would prove too little: what was written in
    /// between would come from the serving store, and be compared with itself.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` unless the backup says that it is of this user's former store, since the move to `complete`.
    private func readable(_ backup: StoreAddress, _ actual: ActualStage) throws -> (any UserStoreBackend)? {
        if (try? open.pair.status(actual.other)) != nil { return nil }
        let store = try open.context.engines.open(backup, .readOnly, schema: open.context.schema)
        do {
            let status = try store.replicaRead { try open.pair.status(backup.engine, $0) }
            guard Self.isReference(status, actual, open.directory) else {
                throw HabitStoreError(
                    .unsupported,
                    "the backup does not say that it is of the \(actual.other.rawValue) store, since the user reached complete: it "
                        + "proves nothing about what was written until then, and nothing is removed; a copy by "
                        + "`\(OperatorCommand.name) copy` never says so, so give a backup of that store itself, or take the user back "
                        + "and forward again",
                    at: .init(path: backup.path)
                )
            }
            return store
        } catch {
            store.close()
            throw error
        }
    }

    /// Whether a store is the former store as the move to the user's stage left it.
    private static func isReference(_ status: ReplicaStatus, _ actual: ActualStage, _ directory: UserDirectory) -> Bool
    {
        status.state?.engines == actual.state.engines && (status.owner == nil || status.owner == directory.owner)
            && status.role == .standby && status.engine == actual.other && status.epoch == actual.epoch
    }

    /// Brings the copy of the former store up to the serving one from the history only: anything else would prove nothing.
    private func bringUp(
        _ left: any UserStoreBackend,
        to serving: any UserStoreBackend,
        _ progress: (String, Int, Int) -> Void
    ) throws {
        let from = try serving.replicaRead { try $0.information() }
        try left.replicate { replica in
            let there = try replica.information()
            let agree = try serving.replicaRead { try Replication.agree($0, replica, at: there.token) }
            if let error = Self.objection(to: there, besides: from, agree: agree, open.directory) { throw error }
            try serving.replicaRead { source in
                let count = Int(from.token.rawValue - there.token.rawValue)
                progress("history", 0, count)
                _ = try Replication.carry(from: source, from, to: replica, there, schema: open.context.schema)
                progress("history", count, count)
            }
        }
    }

    /// Why the former store proves nothing about the serving one; nil if it may.
    ///
    /// - Parameter agree: whether both have the same last common transaction.
    static func objection(
        to left: StoreInformation,
        besides serving: StoreInformation,
        agree: Bool = true,
        _ directory: UserDirectory
    ) -> HabitStoreError? {
        guard left.lineage == serving.lineage, left.token <= serving.token, left.role != .backfilling, agree else {
            return unproven("has diverged from the serving store and proves nothing about it", directory)
        }
        guard left.token >= serving.historyFloor else {
            let floor = serving.historyFloor
            return unproven(
                "is at token \(left.token), and the history of the serving store begins after token \(floor)",
                directory
            )
        }
        return nil
    }

    private static func unproven(_ what: String, _ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the old store \(what): nothing is removed; take the user back and forward again",
            at: .init(path: directory.path)
        )
    }

    // MARK: Removing

    private func remove(_ actual: ActualStage, _ change: StageSwitch, by person: String, isBegun: Bool) throws {
        guard try open.pair.exists(actual.other) else {
            throw Self.nothingIsLeft(actual.other, open.pair.address(actual.other))
        }
        if !isBegun {
            let event = EvidenceEvent.retired(
                engine: actual.other,
                epoch: actual.epoch,
                token: actual.token,
                by: person
            )
            guard open.record([event]) else {
                throw HabitStoreError(
                    .inputOutput,
                    "the evidence cannot be written, and nothing is removed without a line of it",
                    at: .init(path: open.directory.path)
                )
            }
            CrashPoint.reach("retire.told")
        }
        try change.disown(actual.other)
        CrashPoint.reach("retire.disowned")
        open.pair.close(actual.other)
        try open.pair.known.discard(open.pair.address(actual.other))
        CrashPoint.reach("retire.removed")
    }
}

/// The outcome of an attempt to remove the store that a user has left.
public struct RetirementOutcome: Sendable {
    /// The gate's decision, with every reason that keeps it closed.
    public internal(set) var decision: GateDecision
    /// The engine of the store.
    public let engine: EngineName
    /// The store's path or address, even after its removal.
    public let place: String
    /// Whether it was removed.
    public internal(set) var isRemoved = false
    /// Whether there was such a store when the gate was asked: before `dualwrite`, a user has only one store.
    public internal(set) var isThere = true
    /// Whether an earlier retirement in this stay at `complete` removed it.
    public internal(set) var wasRemovedBefore = false
    /// The names of files that stay next to the removed store: they were put aside there, and may contain records that nothing else has.
    public internal(set) var leftBeside: [String] = []

    init(_ decision: GateDecision, _ engine: EngineName, _ address: StoreAddress) {
        (self.decision, self.engine, place) = (decision, engine, address.path)
    }
}
