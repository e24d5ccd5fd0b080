import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// A user's store. Reads, shadow reads, writes and mirroring follow the user's actual stage.
///
/// This is a handle, which an app may keep as long as it likes. Its files are closed when other users need the room
/// (``RolloutOptions/maximumOpenUsers``), never during an operation, and reopened by the next one, which finds out where the user is now.
public final class UserStore: HabitStore {
    /// The user's id.
    public let user: String
    /// The schema that the user's stores are opened with.
    public let schema: Schema
    /// Runs the async forms.
    public var dispatcher: StoreDispatcher {
        // Does not open the user.
        let word = files.leases.isShut ? nil : files.leases.openUser?.control?.word
        return files.lanes.dispatcher(word: word, revision: files.context.flags.revision)
    }

    let files: UserFiles
    let follower: UserFollower

    init(_ files: UserFiles) {
        self.files = files
        follower = UserFollower(files.context)
        (user, schema) = (files.context.directory.user, files.context.schema)
    }

    deinit { files.close() }

    // MARK: Status

    /// The user's stage, as this process knows it.
    ///
    /// - Throws: why the user's stores cannot be served.
    public func stage() throws -> Stage {
        let lease = try files.lease()
        return try lease.user.confirmedRoute().actual.stage
    }

    /// The engine that reads come from.
    ///
    /// - Throws: the errors of ``stage()``.
    public func engine() throws -> EngineName {
        let lease = try files.lease()
        return try lease.user.confirmedRoute().actual.engine
    }

    /// The stage that the flags want; nil if they name none.
    public var wantedStage: Stage? { files.known.wanted?.stage }

    /// Why the flags could not be read, in one line; nil if they could, or there are no flags.
    package var flagFailure: String? {
        let wanted = files.known.wanted
        guard wanted?.stage == nil else { return nil }
        return wanted?.notes.first ?? files.context.flags.notes.first
    }

    /// The engine that would serve at the wanted stage; nil if the flags name no stage.
    public var wantedEngine: EngineName? { files.known.wanted?.engine }

    /// Notes for operators: a switch of engines that was made, or why it was not.
    public var notes: [String] { files.known.notes }

    /// The state of the mirror.
    public var mirrorStatus: MirrorStatus { files.mirrorStatus }

    /// The outcomes of shadow reads in this process since the store was opened.
    public var shadowReads: [ShadowVerdict: Int] { files.context.shadowTotals.all }

    /// Whether something still has to be written to the evidence.
    public var owesEvidence: Bool { files.context.evidence.owes(files.leases.openUser?.control) }

    /// Waits until all earlier reads are compared, at most `seconds`.
    package func drainShadowReads(seconds: Double) { files.leases.present?.shadow?.drain(seconds: seconds) }

    /// Has the mirror retry after a failure, and waits until it has everything.
    ///
    /// - Returns: whether it has, within `waitSeconds`; true if there is no mirror.
    package func waitUntilMirrorIsIdle(waitSeconds: Double) -> Bool {
        guard let mirror = files.leases.present?.mirror else { return true }
        mirror.retry()
        return mirror.waitUntilIdle(waitSeconds: waitSeconds)
    }

    /// Reads the flag file and checks the sentinel files now, even if they are not watched.
    package func reloadFlags() { files.context.flags.reload() }

    // MARK: Operations

    /// Runs `body` over one moment of the store that answers at the user's stage.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        let lease = try files.lease()
        return try lease.user.read(body)
    }

    /// Runs `body` in a write transaction of the authoritative store, and replicates the write as the user's stage requires.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        defer { follower.queries.signal() }
        let lease = try files.lease()
        guard let recorder = files.context.options.queryRecorder else { return try lease.user.write(author, body) }
        return try lease.user.write(author) { try body(RecordingWriteTransaction($0, recorder)) }
    }

    /// Runs `body` over one moment, on a thread of the user's.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// Runs `body` in a write transaction, on a thread of the user's.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    // MARK: Closing

    /// Closes the store, after the mirror's current work. Later operations throw ``HabitStoreError/Code/closed``.
    public func close() {
        files.close()
        follower.queries.signal()
    }
}

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
    public func applyKill() throws -> Bool {
        let lease = try files.lease()
        return try lease.user.applyKill()
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

extension UserStores {
    /// The async form of the blocking method. An opening may migrate a store or copy it to another engine; it runs on a separate thread, never on the
    /// cooperative pool, and does not delay other users.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before.
    ///   - progress: called on that thread with the progress of a switch of engines.
    /// - Throws: what is wrong with the user's current store; `CancellationError` if the task was cancelled before the opening began. An opening that
    ///   has begun is finished.
    public func store(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: @escaping @Sendable (String, Int, Int) -> Void = { _, _, _ in }
    ) async throws -> UserStore {
        try await opening(user) { try self.store(for: user, attributes: attributes, progress: progress) }
    }

    /// The async form of the method for an existing user; for any other id it throws and creates nothing.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before.
    ///   - progress: called on that thread with the progress of a switch of engines.
    /// - Throws: the errors of the blocking method; `CancellationError` if the task was cancelled before the opening began.
    public func existingStore(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: @escaping @Sendable (String, Int, Int) -> Void = { _, _, _ in }
    ) async throws -> UserStore {
        try await opening(user) { try self.existingStore(for: user, attributes: attributes, progress: progress) }
    }

    private func opening(_ user: String, _ open: @escaping @Sendable () throws -> UserStore) async throws -> UserStore {
        let known = handles.withLock { $0[user] }
        return try await (known?.dispatcher ?? StoreDispatcher(label: "opening")).read(open)
    }
}

/// The user stores in use in this process, so that every caller gets the same one.
struct UserHandles {
    private struct Weak {
        weak var store: UserStore?
    }

    private var handles: [UserKey: Weak] = [:]
    /// The size at which released ones are removed.
    private var sweepCount = 64

    /// A user's store, if it is in use.
    subscript(user: String) -> UserStore? {
        get { handles[UserKey(user)]?.store }
        set {
            handles[UserKey(user)] = newValue.map { Weak(store: $0) }
            guard handles.count > sweepCount else { return }
            handles = handles.filter { $0.value.store != nil }
            sweepCount = 2 * handles.count + 64
        }
    }
}
