import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// A user's files: opened by the operation that needs them, and closed when other users need the room.
final class UserFiles: Sendable {
    let context: UserContext
    private let pool: UserPool
    let leases = Leases()
    /// The threads of the async operations.
    let lanes: OperationThreads
    /// Held while the files are being opened or closed.
    private let opening = Mutex<Void>(())
    private let resting = Mutex(RestingUser())
    private let ended = Atomic<Bool>(false)

    init(_ context: UserContext, _ pool: UserPool) {
        (self.context, self.pool) = (context, pool)
        lanes = OperationThreads(label: context.directory.path)
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
        let lease = try leases.begin {
            try open { user in
                if context.mayBegin.load(ordering: .relaxed) { try context.directory.make() }
                removeTemporaryCopies()
                try Toggle(open: user).run(from: user.firstRoute().actual, progress)
            }
        }
        try lease.user.requireOpen()
        if !worksByItself { applyKill(lease.user) }
    }

    /// Removes copies with a user's records that a killed process left and that would otherwise stay until the next copy.
    private func removeTemporaryCopies() {
        // Opening a user must not wait for a server because of them: the doctor reports them, and making new ones removes them.
        guard !context.engines.names.contains(where: context.engines.isShared) else { return }
        do {
            try TemporaryCopies.removeUnused(in: context.directory, context.engines, onlyKnown: true)
        } catch {
            context.options.logger.error("copies that a killed process has left cannot be removed: \(error)")
        }
    }

    /// Whether a thread moves the user while the app does nothing.
    private var worksByItself: Bool { context.options.advancesByItself || context.options.followsFlags }

    /// Takes back a user whose old store has to be copied first. Until that is done the user can only read, and in a process without a
    /// thread for it no other call does it.
    private func applyKill(_ user: OpenUser) {
        do {
            if try user.currentRoute().refusal != nil { _ = try user.applyKill() }
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
            try pool.enter(self, context.directory)
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

/// The users whose stores this process has open under one root, up to a limit.
///
/// When all places are taken, a newcomer closes an idle user by the CLOCK rule: a hand goes around the places, clears the mark of recent use where
/// it finds one, and closes the first user without it. Using a user's stores sets the mark without a lock; only opening and closing come here.
///
/// Everything that an operation, a mirror or a comparison works on stays open. If all users are busy, the newcomer waits. After
/// ``patienceSeconds`` a lagging mirror no longer protects its user, since it continues from the history at the next opening; an operation
/// always does.
final class UserPool: Sendable {
    /// How long a newcomer waits before it closes users whose mirrors or comparisons are still busy, in seconds.
    static let patienceSeconds = 0.25
    private static let longestPauseSeconds = 0.02

    private struct Place {
        let id: ObjectIdentifier
        /// nil for a user at rest, who has no files to close before the work is done.
        weak var files: UserFiles?
    }

    private struct State {
        var places: [Place] = []
        var indexes: [ObjectIdentifier: Int] = [:]
        var hand = 0
        /// The number of users closed to make room.
        var closings = 0
    }

    /// The most users that may be open.
    let limit: Int
    private let waitSeconds: Double
    private let metrics: RolloutMetrics
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many users may be open; at least one.
    ///   - waitSeconds: how long to wait for a place.
    init(limit: Int, waitSeconds: Double, metrics: RolloutMetrics) {
        self.limit = max(1, limit)
        self.waitSeconds = waitSeconds
        self.metrics = metrics
    }

    /// The number of open users, and of users closed to make room so far.
    var figures: (open: Int, closings: Int) { state.withLock { ($0.places.count, $0.closings) } }

    /// Takes a place for a user whose stores are about to be opened.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when all places are taken by users at work for longer than the stated wait.
    func enter(_ user: AnyObject, _ directory: UserDirectory) throws {
        let start = ContinuousClock.now
        var pause = 0.000_5
        while true {
            if take(user) { return }
            let waited = (ContinuousClock.now - start) / .seconds(1)
            if makeRoom(isPatient: waited < Self.patienceSeconds) { continue }
            guard waited < waitSeconds else { throw full(directory) }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, Self.longestPauseSeconds)
        }
    }

    /// Gives a user's place back, if the user has one.
    func leave(_ user: AnyObject) {
        let id = ObjectIdentifier(user)
        let count: Int? = state.withLock { state in
            guard let index = state.indexes.removeValue(forKey: id) else { return nil }
            let last = state.places.removeLast()
            if last.id != id {
                state.places[index] = last
                state.indexes[last.id] = index
            }
            return state.places.count
        }
        if let count { metrics.openUsers(count) }
    }

    private func take(_ user: AnyObject) -> Bool {
        let id = ObjectIdentifier(user)
        let count: Int? = state.withLock { state in
            guard state.indexes[id] == nil else { return state.places.count }
            guard state.places.count < limit else { return nil }
            state.indexes[id] = state.places.count
            state.places.append(Place(id: id, files: user as? UserFiles))
            return state.places.count
        }
        guard let count else { return false }
        metrics.openUsers(count)
        return true
    }

    /// Closes one idle user.
    ///
    /// - Returns: false if there is none.
    private func makeRoom(isPatient: Bool) -> Bool {
        // The first round clears marks, the second finds users without use since.
        for _ in 0..<2 * limit {
            // Held until after the lock: releasing the last reference calls back into this object.
            guard let candidate = state.withLock({ next(&$0) }) else { continue }
            guard candidate.closeForAnother(isPatient: isPatient) else { continue }
            state.withLock { $0.closings += 1 }
            metrics.userClosed()
            return true
        }
        return false
    }

    private func next(_ state: inout State) -> UserFiles? {
        guard !state.places.isEmpty else { return nil }
        state.hand = (state.hand + 1) % state.places.count
        return state.places[state.hand].files
    }

    private func full(_ directory: UserDirectory) -> HabitStoreError {
        HabitStoreError(
            .busy,
            "all \(limit) users that may be open at a time were in use for \(waitSeconds) s; raise maximumOpenUsers, and the "
                + "limit of open files with it",
            at: .init(path: directory.path)
        )
    }
}

/// The known state of a user whose files are closed.
struct RestingUser {
    var wanted: WantedStage?
    var notes: [String] = []
    /// The mirror's last status.
    var mirror = MirrorStatus.none

    init() {}

    init(_ state: OpenUser.State, _ mirror: MirrorStatus) {
        (wanted, notes) = (state.wanted, state.notes)
        self.mirror = mirror
    }
}

/// The threads of a user's async operations. They are replaced whenever the user's route may have changed, so that an operation that hangs in a store
/// that the user leaves delays none that come later.
final class OperationThreads: Sendable {
    private struct Lane {
        /// nil until it is known, if the first of its operations opens the user.
        var word: UInt64?
        let revision: Int
        let dispatcher: StoreDispatcher
    }

    private let label: String
    private let current = Mutex<Lane?>(nil)

    init(label: String) { self.label = label }

    /// The threads for operations that begin at this control word and this revision of the flags.
    ///
    /// - Parameter word: nil while the user is not open, so that no move can overtake an operation.
    func dispatcher(word: UInt64?, revision: Int) -> StoreDispatcher {
        current.withLock { lane in
            if let known = lane, known.revision == revision, word == nil || known.word == nil || known.word == word {
                lane?.word = known.word ?? word
                return known.dispatcher
            }
            let made = Lane(word: word, revision: revision, dispatcher: StoreDispatcher(label: label))
            lane = made
            return made.dispatcher
        }
    }

    /// Releases the threads; running operations finish.
    func release() { current.withLock { $0 = nil } }
}
