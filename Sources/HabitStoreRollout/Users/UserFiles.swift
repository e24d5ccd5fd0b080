import FeatureFlags
@_spi(Engines) import HabitStore
import Synchronization

/// A user's files: opened by the operation that needs them, and closed when other users need the room.
final class UserFiles: Sendable {
    let context: UserContext
    private let pool: UserPool
    let leases = Leases()
    /// The threads of the async operations.
    let lanes: OperationLanes
    /// Held while the files are being opened or closed.
    private let opening = Mutex<Void>(())
    private let resting = Mutex(RestingUser())
    private let ended = Atomic<Bool>(false)

    init(_ context: UserContext, _ pool: UserPool) {
        (self.context, self.pool) = (context, pool)
        lanes = OperationLanes(label: context.directory.path)
    }

    /// No lease is left, since each one retains this object.
    deinit { leases.clear() }

    /// The known state of the user, even while the files are closed or being opened. Waits for a move in progress.
    var known: RestingUser {
        knownUser.map { user in user.state.withLock { RestingUser($0, user.mirrorStatus) } } ?? resting.withLock { $0 }
    }

    /// The mirror's status, current or last known; never waits.
    var mirrorStatus: MirrorStatus { knownUser?.mirrorStatus ?? resting.withLock { $0.mirror } }

    /// The open user of whom something is known.
    private var knownUser: OpenUser? { leases.openUser.flatMap { leases.present != nil || $0.isEnded ? $0 : nil } }

    // MARK: Opening

    /// An operation: the user is opened if that is needed, and stays open for as long as the lease lives.
    ///
    /// - Throws: why the user's stores cannot be opened.
    @inline(__always)
    func lease() throws -> Lease { try leases.begin { try open { _ = try $0.recheck() } } }

    /// Opens the user for the first time, after putting the user on another engine if the flags want that directly; an open user is left
    /// unchanged.
    func begin(_ progress: (String, Int, Int) -> Void) throws {
        let lease = try leases.begin { try open { try Toggle(open: $0).run(progress) } }
        try lease.user.requireOpen()
        if !worksByItself { landKill(lease.user) }
    }

    /// Whether a thread moves the user while the app does nothing.
    private var worksByItself: Bool { context.options.advancesByItself || context.options.followsFlags }

    /// Takes back a user whose old store has to be copied first. Until that is done the user can only read, and in a process without a
    /// thread for it no other call does it.
    private func landKill(_ user: OpenUser) {
        do {
            if try user.currentRoute().refusal != nil { _ = try user.land() }
        } catch {
            context.options.logger.error(
                "a killed user cannot be taken back now: \(error)",
                metadata: ["folder": "\(context.directory.path)"]
            )
        }
    }

    /// Opens the user within an operation, unless another one has; `work` has to install a route.
    private func open(_ work: (OpenUser) throws -> Void) throws -> OpenUser {
        try opening.withLock { _ in
            guard !isClosed else { throw OpenUser.closed(context.directory) }
            if !leases.isShut, let user = leases.openUser { return user }
            try pool.enter(self)
            let user = OpenUser(context, leases) { [weak self] in
                guard let self else { return }
                let lease = try lease()
                try lease.user.moveBack(to: .shadow, reason: .differenceFound, onlyFrom: .live)
            }
            leases.install(user)
            do {
                try work(user)
            } catch {
                drop(user)
                throw error
            }
            leases.open()
            // An idle user has no other chance to find out that the kill switch was pulled.
            if worksByItself {
                let ticker = Ticker(everySeconds: context.options.advanceSeconds) { [weak self] in
                    self?.advanceByItself()
                }
                user.advancer.withLock { $0 = ticker }
            }
            return user
        }
    }

    /// Tries once to take the user where the flags lead, in the background. A user who is not open is skipped, and the attempt does not count as use.
    func advanceByItself() {
        guard let lease = leases.beginWork() else { return }
        Advance(open: lease.user).runByItself()
    }

    /// Sets the app's attributes of the user: the next operation evaluates the flags again.
    func take(_ attributes: [String: FlagValue]) {
        guard context.subject.take(attributes) else { return }
        leases.openUser?.forgetFlags()
    }

    // MARK: Closing

    var isClosed: Bool { ended.load(ordering: .acquiring) }

    /// Closes the files for good, after the mirror's current work.
    func close() {
        // After a running opening.
        let isFirst = opening.withLock { _ in !ended.exchange(true, ordering: .acquiringAndReleasing) }
        guard isFirst else { return }
        leases.openUser?.end()
        pool.leave(self)
    }

    /// Closes the user's files to make room, unless they are in use or were since the last call.
    ///
    /// - Parameter isPatient: whether a lagging mirror and pending comparisons also keep the user open.
    /// - Returns: whether the files were closed.
    func closeForAnother(isPatient: Bool) -> Bool {
        guard leases.isUnused() else { return false }
        // A user is also in use while being opened, and this must not wait. A caller that needs this user meanwhile waits until the files
        // are closed and the place is free.
        return opening.withLockIfAvailable { _ in
            guard !isClosed, let user = leases.openUser, !isPatient || user.isAtRest else { return false }
            // Counts are on disk before anything is forgotten.
            user.flush()
            let left = user.state.withLockIfAvailable { RestingUser($0, user.mirrorStatus) }
            guard let left, leases.shut() else { return false }
            resting.withLock { $0 = left }
            lanes.release()
            drop(user)
            return true
        } ?? false
    }

    /// Forgets all that belongs to the open files; only while operations find them closed.
    private func drop(_ user: OpenUser) {
        leases.clear()
        user.drop()
        pool.leave(self)
    }
}
