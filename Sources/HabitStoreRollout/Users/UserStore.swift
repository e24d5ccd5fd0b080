import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore

/// A user's store. Reads, shadow reads, writes and mirroring follow the user's actual stage.
///
/// This is a handle, which an app may keep as long as it likes. Its files are closed when other users need the room
/// (``RolloutOptions/maximumOpenUsers``), never during an operation, and reopened by the next one, which finds out where the user is now.
public final class UserStore: HabitStore {
    /// Whose store it is.
    public let user: String
    /// The schema that the user's stores are opened with.
    public let schema: Schema
    /// Where the async forms run.
    public var dispatcher: StoreDispatcher {
        // It opens nothing.
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

    /// Where the user is, as this process knows.
    ///
    /// - Throws: why the user's stores cannot be served.
    public func stage() throws -> Stage {
        let lease = try files.lease()
        return try lease.user.confirmedRoute().actual.stage
    }

    /// The engine that reads come from.
    ///
    /// - Throws: as ``stage()`` does.
    public func engine() throws -> EngineName {
        let lease = try files.lease()
        return try lease.user.confirmedRoute().actual.engine
    }

    /// The stage that the flags want; nil when they say nothing.
    public var wantedStage: Stage? { files.known.wanted?.stage }

    /// Why the flags' wishes are unknown, in one line; nil if they are known, or there are no flags.
    package var flagFailure: String? {
        let wanted = files.known.wanted
        guard wanted?.stage == nil else { return nil }
        return wanted?.notes.first ?? files.context.flags.notes.first
    }

    /// The engine that would serve at the wanted stage; nil when the flags say nothing.
    public var wantedEngine: EngineName? { files.known.wanted?.engine }

    /// Notes for an engineer: a switch that was made, or why one was not.
    public var notes: [String] { files.known.notes }

    /// How far the mirror is.
    public var mirrorStatus: MirrorStatus { files.mirrorStatus }

    /// How many shadow reads came out how in this process, since the store was opened.
    public var shadowReads: [ShadowVerdict: Int] { files.context.shadowTotals.all }

    /// Whether something still has to be written to the evidence.
    public var owesEvidence: Bool { files.context.evidence.owes(files.leases.openUser?.control) }

    /// Waits until what was read before is compared, `seconds` at most.
    package func drainShadowReads(seconds: Double) { files.leases.present?.shadow?.drain(seconds: seconds) }

    /// Has the mirror try again what it could not do, and waits until it has everything.
    ///
    /// - Returns: whether it has, within `waitSeconds`; true where nothing is mirrored.
    package func settleMirror(waitSeconds: Double) -> Bool {
        guard let mirror = files.leases.present?.mirror else { return true }
        mirror.retry()
        return mirror.settle(waitSeconds: waitSeconds)
    }

    /// Reads the flag file and looks for the sentinel file now, also where neither is watched.
    package func reloadFlags() { files.context.flags.reload() }

    // MARK: Operations

    /// Runs `body` over one moment of the store that answers at the user's stage.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        let lease = try files.lease()
        return try lease.user.read(body)
    }

    /// Runs `body` in a write transaction of the authoritative store, and carries it over as the user's stage says.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        defer { follower.queries.signal() }
        let lease = try files.lease()
        guard let recorder = files.context.options.queryRecorder else { return try lease.user.write(author, body) }
        return try lease.user.write(author) { try body(RecordingWriteTransaction($0, recorder)) }
    }

    /// Runs `body` over one moment, on a thread of the store's own.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// Runs `body` in a write transaction, on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    // MARK: Closing

    /// Closes the store, after what the mirror is doing. Later operations throw ``HabitStoreError/Code/closed``.
    public func close() {
        files.close()
        follower.queries.signal()
    }
}
