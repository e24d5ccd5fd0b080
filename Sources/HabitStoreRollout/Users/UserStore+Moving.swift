import HabitStore
import ShadowVerifier

extension UserStore {
    // MARK: Forward

    /// Brings the user as close to the wanted stage as the gate allows. On the way it makes missing verifications, and rehearses the way back.
    ///
    /// - Parameters:
    ///   - stage: the stage to go to; nil for the stage that the flags want.
    ///   - waitSeconds: how long the mirror may take to be filled and to catch up; nil for
    ///     ``RolloutOptions/stepLimitSeconds``.
    ///   - progress: called with the current step and its progress.
    /// - Returns: the last decision of the gate; nil if there was nothing to decide. For a user who stays at a later stage than the flags want, it is
    ///   closed by ``GateReason/notTakenBack(wanted:because:)``.
    /// - Throws: why a step failed; the user stays where the last one led.
    @discardableResult
    public func advance(
        to stage: Stage? = nil,
        waitSeconds: Double? = nil,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> GateDecision? {
        let lease = try files.lease()
        return try Advance(open: lease.user, repeatsRehearsal: true)
            .run(to: stage, waitSeconds: waitSeconds, progress: progress)
    }

    /// The same for code that moves many users.
    ///
    /// - Parameter permit: called last before each move; throws to stop.
    package func advance(to stage: Stage, permit: () throws -> Void) throws -> GateDecision? {
        let lease = try files.lease()
        return try Advance(open: lease.user).run(to: stage, waitSeconds: nil, permit: permit) { _, _, _ in }
    }

    /// Moves the user one stage forward, if the gate is open.
    ///
    /// - Parameter stage: the stage to go to; nil for the next one.
    /// - Returns: the gate's decision, with all its reasons; open if the user was moved.
    /// - Throws: why the move failed; the user then stays.
    @discardableResult
    public func promote(to stage: Stage? = nil) throws -> GateDecision {
        let lease = try files.lease()
        return try Promotion(open: lease.user).promote(to: stage)
    }

    /// The gate's decision about a promotion now. Changes and records nothing.
    ///
    /// - Parameter stage: the target stage; nil for the next one.
    public func decision(for stage: Stage? = nil) throws -> GateDecision {
        let lease = try files.lease()
        return try Promotion(open: lease.user).decision(for: stage)
    }

    /// Compares the complete contents of the user's two stores, and records the outcome as evidence. If the gate to the next stage requires it, each
    /// store is first compared with itself.
    ///
    /// - Parameter progress: receives the level and its progress.
    /// - Throws: why a store cannot be read.
    @discardableResult
    public func verify(progress: (String, Int, Int) -> Void = { _, _, _ in }) throws -> VerificationReport {
        let lease = try files.lease()
        return try Proof(open: lease.user).verify(progress)
    }

    /// Rehearses the way back on copies of both stores: to `live`, a write there, back to the old store by the kill switch, and a verification that
    /// nothing is missing. The outcome is recorded as evidence.
    ///
    /// - Returns: what went wrong; nil if nothing did.
    /// - Throws: why the copies cannot be made.
    @discardableResult
    public func rehearse() throws -> HabitStoreError? {
        let lease = try files.lease()
        return try Proof(open: lease.user).rehearse()
    }

    /// Rebuilds the following store from the serving one and verifies both: the repair for stores that differ while the serving one is right. The
    /// replaced store is set aside next to the new one.
    ///
    /// The serving store has to be intact. At `live` and `rampdown` no write is acknowledged before the copy is finished, and a kill waits for it
    /// too.
    ///
    /// - Parameters:
    ///   - person: the operator's name, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - progress: called with the current step and its progress.
    /// - Throws: ``HabitStoreError/Code/notFound`` if no store follows, ``HabitStoreError/Code/corrupt`` if the serving store is damaged; why a step
    ///   failed. Another try, or the next move, completes an unfinished copy.
    @discardableResult
    public func resync(
        by person: String,
        because reason: String,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> ResyncOutcome {
        let lease = try files.lease()
        return try Resync(open: lease.user).run(by: person, because: reason, progress)
    }

    // MARK: Back

    /// Takes the user to an earlier stage. The store that serves there is first brought to everything that was acknowledged.
    ///
    /// - Parameters:
    ///   - stage: the stage to go to; nil for the previous one.
    ///   - reason: why, for the evidence.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the stage is not an earlier one; why the move failed.
    public func demote(to stage: Stage? = nil, because reason: String? = nil) throws {
        let lease = try files.lease()
        try lease.user.moveBack(to: stage, reason: .demoted, because: reason)
    }

    /// Takes the user back now, if the kill switch is pulled for the user and that was not done yet.
    ///
    /// - Returns: whether the user is killed.
    /// - Throws: why the user could not be taken back; reads still work then, and writes fail with this error.
    public func land() throws -> Bool {
        let lease = try files.lease()
        return try lease.user.land()
    }

    /// Lets a killed user move forward again.
    ///
    /// - Parameter person: the operator's name, for the evidence.
    /// - Returns: whether the user was killed.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while the kill switch is still pulled.
    @discardableResult
    public func rearm(by person: String) throws -> Bool {
        try files.context.flags.requireNoKill(for: files.context.subject)
        let lease = try files.lease()
        return try lease.user.rearm(by: person)
    }

    // MARK: The end

    /// Removes the store that the user has left, if the gate allows it: at `complete`, after the policy's retention time, and if a full verification
    /// of copies, made now, finds it equal to the serving store once the history has brought it there.
    ///
    /// - Parameters:
    ///   - backup: a backup of that store, made then or while both stores were kept, to verify instead if the store cannot be read.
    ///   - person: the operator's name, for the evidence.
    ///   - progress: called with the current step and its progress.
    /// - Throws: ``HabitStoreError/Code/notFound`` if the store is gone already; ``HabitStoreError/Code/unsupported`` if the history does not reach
    ///   back to it; why something cannot be read, copied or removed. The store, or a copy without contents, is then still there.
    public func retire(
        against backup: StoreAddress? = nil,
        by person: String,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> RetirementOutcome {
        let lease = try files.lease()
        return try Retirement(open: lease.user).run(against: backup, by: person, progress)
    }

    // MARK: Evidence

    /// Starts the user's evidence over after it was lost or damaged, which would otherwise keep the gate closed forever.
    ///
    /// Since nothing is proven any more, the user first goes back to `off`, as by ``demote(to:)``. The old file is kept.
    ///
    /// - Parameters:
    ///   - reason: why, for the evidence.
    ///   - person: the operator's name, for the evidence.
    ///   - isForced: whether to start over even if the evidence is intact.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the evidence is intact; why the user cannot be taken to `off`; system errors. A repeated
    ///   call continues where this one ended.
    @discardableResult
    public func resetEvidence(
        because reason: String,
        by person: String,
        isForced: Bool = false
    ) throws -> EvidenceReset {
        let lease = try files.lease()
        return try EvidenceRenewal(open: lease.user).reset(because: reason, by: person, isForced: isForced)
    }

    /// Moves the part before the last checkpoint of the user's evidence into a separate file.
    ///
    /// - Returns: nil if nothing comes before a checkpoint.
    /// - Throws: the errors of ``EvidenceLog/archive(anchor:at:)``.
    public func archiveEvidence() throws -> EvidenceLog.Archived? {
        let lease = try files.lease()
        return try EvidenceRenewal(open: lease.user).archive()
    }
}
