import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore

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
    package func settleMirror(waitSeconds: Double) -> Bool {
        guard let mirror = files.leases.present?.mirror else { return true }
        mirror.retry()
        return mirror.settle(waitSeconds: waitSeconds)
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
