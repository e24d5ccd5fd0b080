import CSystemCalls
import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Logging
import Synchronization

/// The live queries of a user, and the control file that notifies them of changes.
final class UserFollower: Sendable {
    let queries: LiveQueries
    private let path: String
    private let observation = Mutex(Weak())

    private struct Weak {
        weak var observation: ControlObservation?
    }

    init(_ context: UserContext) {
        path = context.directory.path + "/control"
        let (logger, metrics, folder) = (context.options.logger, context.metrics, context.directory.path)
        queries = LiveQueries(
            report: { difference in
                logger.error(
                    "a live query was wrong, and is run again after each change from now on: \(difference)",
                    metadata: ["folder": "\(folder)"]
                )
                metrics.liveQueryDiffered()
            },
            answered: { metrics.liveQueryAnswered(isPatched: $0) }
        )
    }

    /// Changes with each write and each move; nil if they cannot be observed.
    var changeNumber: UInt64? { observation.withLock { $0.observation }?.changeNumber }

    /// Calls `wake` after writes, until the result is released.
    func observe(_ wake: @escaping @Sendable () -> Void) -> ControlObservation {
        observation.withLock { known in
            if let known = known.observation { return known }
            let made = ControlObservation(path, wake)
            known.observation = made
            return made
        }
    }
}

/// Follows a user's control file, even if it is removed and recreated.
final class ControlObservation: Sendable {
    private struct Present {
        let watch: ControlWatch
        /// nil if the system cannot wait for it.
        let watched: ControlWatches.Watched?
    }

    private let path: String
    private let wake: @Sendable () -> Void
    private let present = Mutex<Present?>(nil)

    init(_ path: String, _ wake: @escaping @Sendable () -> Void) {
        (self.path, self.wake) = (path, wake)
        _ = changeNumber
    }

    /// Changes with each write and each move; nil if there is no control file.
    var changeNumber: UInt64? {
        present.withLock { present in
            if let watch = present?.watch, watch.isInPlace { return watch.changeNumber }
            // The next opening of the user recreates the file.
            present = (try? ControlWatch(path: path)).map {
                Present(watch: $0, watched: ControlWatches.shared.add($0, wake))
            }
            return present?.watch.changeNumber
        }
    }
}

extension UserStore: LiveSource {
    /// The live queries of the user. They continue whichever store answers, and whether or not the user's files are open. The files are opened to
    /// read changes, not to find out whether there are any.
    public var liveQueries: LiveQueries { follower.queries }

    /// Runs `body` over one moment of the store that answers at the user's stage, without comparing or recording the read.
    package func readForLiveQueries(_ body: (any ReadTransaction) throws -> Void) throws {
        do {
            return try readNow(body)
        } catch let error as HabitStoreError where error.isDamage || error.code == .closed && !files.isClosed {
            // The user was taken to the intact store, or a file was replaced: the next read succeeds.
            return try readNow(body)
        }
    }

    private func readNow(_ body: (any ReadTransaction) throws -> Void) throws {
        if files.leases.isShut { try files.requireStores() }
        let lease = try files.lease()
        if lease.user.isOutOfPlace {
            try files.requireStores()
            try lease.user.refreshRoute()
        }
        for _ in 0..<OpenUser.maximumAttempts {
            // Read before the snapshot is chosen, which then contains everything acknowledged by now.
            let mark = lease.user.control?.mark ?? .zero
            do {
                return try lease.user.read(isRecorded: false) { transaction in
                    guard try transaction.currentToken() >= mark else { throw OpenUser.Behind() }
                    try body(transaction)
                }
            } catch is OpenUser.Behind {
                // The recheck refuses a store that was restored from a copy, unless it was adopted meanwhile.
                _ = try lease.user.recheck()
            }
        }
        throw lease.user.unsteady()
    }

    /// Whether the user's open files are no longer those in the folder.
    package var isOutOfPlace: Bool { files.leases.openUser?.isOutOfPlace ?? false }

    /// The number in the user's control file that changes with writes and moves by any process; nil if there is no control file.
    package var changeNumber: UInt64? { follower.changeNumber }

    /// Calls `wake` after changes to the user's control file, until the result is released.
    package func observeChanges(_ wake: @escaping @Sendable () -> Void) -> (any AnyObject & Sendable)? {
        follower.observe(wake)
    }
}

extension OpenUser {
    /// A store answered with a state older than the acknowledged one.
    struct Behind: Error {}

    /// Whether the mapped control file, or the answering store's file, is no longer the one in the user's folder. Costs two system calls.
    var isOutOfPlace: Bool {
        guard let route = leases.present else { return false }
        return !route.control.isInPlace || !pair.holds(route.actual.engine)
    }
}

extension UserFiles {
    /// Makes sure that the user has a store before a follower opens the user: opening an empty folder would create a new user.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no store.
    func requireStores() throws {
        let (engines, directory) = (context.engines, context.directory)
        guard try engines.names.contains(where: { try engines.identity(of: engines.address($0, of: directory)) != nil })
        else {
            throw HabitStoreError(
                .notFound,
                "the user's stores were moved away or deleted while they were followed; put them back, or open the user again",
                at: .init(path: directory.path)
            )
        }
    }
}

/// Waits for writes by any process to users who are followed in this one: one thread per 120 of them.
final class ControlWatches: Sendable {
    /// A registration, which ends when it is released.
    final class Watched: Sendable {
        fileprivate let watch: ControlWatch
        fileprivate let wake: @Sendable () -> Void
        fileprivate let group: Group

        fileprivate init(_ watch: ControlWatch, _ group: Group, _ wake: @escaping @Sendable () -> Void) {
            (self.watch, self.group, self.wake) = (watch, group, wake)
        }

        deinit { group.remove(ObjectIdentifier(self)) }
    }

    /// The users of one thread.
    fileprivate final class Group: Sendable {
        private struct Weak {
            weak var watched: Watched?
        }

        private let members = Mutex<[ObjectIdentifier: Weak]>([:])
        /// This process's own bell, rung when members are added or removed. Atomic, and its memory lives as long as this object.
        private nonisolated(unsafe) let bell: UnsafeMutablePointer<Atomic<UInt32>>

        init() {
            bell = .allocate(capacity: 1)
            bell.initialize(to: Atomic(1))
        }

        deinit {
            bell.deinitialize(count: 1)
            bell.deallocate()
        }

        private var word: UnsafePointer<UInt32> { UnsafeRawPointer(bell).assumingMemoryBound(to: UInt32.self) }

        var count: Int { members.withLock { $0.count } }

        func add(_ watched: Watched) {
            members.withLock { $0[ObjectIdentifier(watched)] = Weak(watched: watched) }
            ring()
        }

        func remove(_ watched: ObjectIdentifier) {
            members.withLock { $0[watched] = nil }
            ring()
        }

        private func ring() {
            bell.pointee.store(0, ordering: .sequentiallyConsistent)
            habitstore_futex_wake(word)
        }

        func setBell() -> (word: UnsafePointer<UInt32>, value: UInt32) {
            bell.pointee.store(1, ordering: .sequentiallyConsistent)
            return (word, 1)
        }

        var present: [Watched] { members.withLock { $0.values.compactMap(\.watched) } }
    }

    private struct State {
        var groups: [Group] = []
        /// Where the system cannot wait on several words, followers poll.
        var isUnsupported = false
    }

    static let shared = ControlWatches()

    private static let mostInGroup = 120
    /// The longest wait, in nanoseconds: a user released during a wait is kept until it ends.
    private static let waitNanoseconds: Int64 = 1_000_000_000
    /// The pause after a file was truncated during a wait, until it is recreated.
    private static let restSeconds = 0.05

    private let state = Mutex(State())

    /// Calls `wake` after writes to a user, until the result is released.
    ///
    /// - Returns: nil if the system cannot wait for it.
    func add(_ watch: ControlWatch, _ wake: @escaping @Sendable () -> Void) -> Watched? {
        let (watched, begun) = state.withLock { state -> (Watched?, Group?) in
            guard !state.isUnsupported else { return (nil, nil) }
            let free = state.groups.first { $0.count < Self.mostInGroup }
            let group = free ?? Group()
            let watched = Watched(watch, group, wake)
            group.add(watched)
            if free == nil { state.groups.append(group) }
            return (watched, free == nil ? group : nil)
        }
        if let begun {
            let thread = Thread { self.wait(for: begun) }
            thread.name = "HabitStore.changes"
            thread.start()
        }
        return watched
    }

    /// Ends an empty group, so that no user is added to it any more.
    private func end(_ group: Group) -> Bool {
        state.withLock { state in
            guard group.count == 0 else { return false }
            state.groups.removeAll { $0 === group }
            return true
        }
    }

    private func wait(for group: Group) {
        var numbers: [ObjectIdentifier: UInt64] = [:]
        while true {
            // The bells first: writes from here on ring them.
            var bells = [group.setBell()]
            let members = group.present
            if members.isEmpty, end(group) { return }
            bells += members.map { $0.watch.setBell() }
            var known: [ObjectIdentifier: UInt64] = [:]
            for member in members {
                let number = member.watch.changeNumber
                if let last = numbers[ObjectIdentifier(member)], last != number { member.wake() }
                known[ObjectIdentifier(member)] = number
            }
            numbers = known
            // The words must stay mapped during the wait.
            let code = withExtendedLifetime(members) {
                habitstore_futex_wait_any(bells.map(\.word), bells.map(\.value), bells.count, Self.waitNanoseconds)
            }
            switch code {
            case 0, ETIMEDOUT: break
            case EFAULT: Thread.sleep(forTimeInterval: Self.restSeconds)
            // The system lacks the call, or forbids it.
            default: return giveUp()
            }
        }
    }

    private func giveUp() {
        state.withLock { state in
            state.isUnsupported = true
            state.groups = []
        }
    }
}

/// A user's control file for live queries: mapped as long as a query follows the user, whether or not the user's stores are open.
///
/// A waiter sets the bell, checks whether anything was written meanwhile, and waits on it. A writer that finds the bell set resets it and wakes all
/// waiters, so a write without waiters costs one load.
final class ControlWatch: Sendable {
    // The cells are atomic, and mapped as long as this object lives.
    private nonisolated(unsafe) let cells: ControlFile.Cell
    private let path: String
    private let inode: UInt64
    /// Following a user counts as having the user open.
    private let presence: UserPresence

    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no complete control file.
    init(path: String) throws {
        do {
            let file = try OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG, status.st_size >= ControlFile.sizeBytes else {
                throw Self.none(path)
            }
            try UserPresence.enter(file.descriptor, path)
            let mapped = mmap(nil, ControlFile.sizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
            guard let mapped, mapped != MAP_FAILED else { throw Self.none(path) }
            guard habitstore_guard_page(mapped) == 0 else {
                munmap(mapped, ControlFile.sizeBytes)
                throw Self.none(path)
            }
            (self.path, inode) = (path, UInt64(truncatingIfNeeded: status.st_ino))
            cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: ControlFile.sizeBytes / 8)
            presence = UserPresence(entered: file)
        } catch let error as FileFailure {
            throw HabitStoreError(.notFound, "the control file \(error)", at: .init(path: path))
        }
    }

    deinit {
        habitstore_unguard_page(cells)
        munmap(cells, ControlFile.sizeBytes)
    }

    private static func none(_ path: String) -> HabitStoreError {
        HabitStoreError(.notFound, "there is no control file to watch", at: .init(path: path))
    }

    /// Changes with each acknowledged write and each move, and differs between files.
    var changeNumber: UInt64 {
        (inode &* 31 &+ load(ControlFile.Place.mark)) &* 31 &+ load(ControlFile.Place.word)
    }

    /// Whether the mapped file is still the one in the user's folder, and not truncated.
    var isInPlace: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && UInt64(truncatingIfNeeded: status.st_ino) == inode
            && load(0) == ControlFile.magic
    }

    /// Sets the bell.
    ///
    /// - Returns: the word to wait on, and its value until the bell is rung.
    func setBell() -> (word: UnsafePointer<UInt32>, value: UInt32) {
        let bell = cells[ControlFile.Place.bell].bitwiseOr(1, ordering: .sequentiallyConsistent).newValue
        return (ControlFile.bell(of: cells), UInt32(truncatingIfNeeded: bell))
    }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .sequentiallyConsistent) }
}
