import Foundation
import HabitStore
import HabitStoreRollout
import Synchronization

/// Watches a fleet for many viewers at the same time: one reading serves all, at most once a second, and only if the files of the fleet or the kill
/// switch, or the index, have changed.
///
/// ```swift
/// let watch = FleetWatch(root: "/var/lib/habits", flags: "/etc/habits/habit-store.flagd.json")
/// let snapshot = watch.snapshot()
/// ```
///
/// It opens no store: live queries follow single users, and the index follows the fleet. Reading blocks on the disk, so do not call it from a Swift
/// task.
public final class FleetWatch: Sendable {
    /// How many differences are listed.
    public static let listedDifferences = 100
    /// How many of the slowest and of the largest users are listed.
    public static let listedUsers = 5
    /// How many lines of the ledger are listed.
    public static let listedLines = 20
    /// How far back writes are listed, in seconds: a day.
    public static let writesSeconds = 86_400.0

    private let place: StoreRoot
    private let flags: String?
    private let showsUsers: Bool
    private let fleet: Fleet
    private let folder: FleetFolder
    private let state = Mutex(State())

    /// Files and answers, cached until they change.
    private struct State {
        var signs: FleetSigns?
        var looked: ContinuousClock.Instant?
        var snapshot: FleetSnapshot?
        var read: ContinuousClock.Instant?
        var index: (identity: FleetSigns.File, index: FleetIndex)?
        var members: (identity: FleetSigns.File, members: FleetMembers)?
        var lags: [FleetOverview.Lag] = []
    }

    /// Watches a root; reads nothing yet.
    ///
    /// - Parameters:
    ///   - flags: the flag file; nil for none.
    ///   - showsUsers: whether to name users by their ids. Otherwise, a name is a hash of the id, keyed by the salt of the fleet's waves, that stays
    ///     the same as long as the fleet exists.
    public convenience init(root: String, flags: String?, showsUsers: Bool = false) {
        self.init(StoreRoot(root), flags: flags, showsUsers: showsUsers)
    }

    /// Watches the users' stores with a name, which obey the root's kill switch and their own.
    ///
    /// - Parameter store: the name; nil for unnamed stores.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` if the name is invalid.
    public convenience init(root: String, store: String?, flags: String?, showsUsers: Bool = false) throws {
        self.init(try StoreRoot(root, named: store), flags: flags, showsUsers: showsUsers)
    }

    private init(_ place: StoreRoot, flags: String?, showsUsers: Bool) {
        (self.place, self.flags, self.showsUsers) = (place, flags, showsUsers)
        fleet = Fleet(place)
        folder = FleetFolder(root: place.path)
    }

    /// How often files are checked.
    private static let pollSeconds = 1.0
    /// How often everything is read even if no file has changed, because some of it depends on the time.
    private static let readSeconds = 30.0
    /// The period of one lag, and how many lags are kept: a day.
    private static let lagSeconds = 60.0
    private static let keptLags = 1_440

    /// The current snapshot, less than a second old.
    ///
    /// - Parameter looksAnew: whether to check the files even if they were checked less than a second ago; for callers that have just changed one.
    public func snapshot(looksAnew: Bool = false) -> FleetSnapshot {
        state.withLock { state in
            let now = ContinuousClock.now
            if !looksAnew, let snapshot = state.snapshot, let looked = state.looked,
                now - looked < .seconds(Self.pollSeconds)
            {
                return snapshot
            }
            let signs = signs(&state)
            state.looked = now
            if let snapshot = state.snapshot, let read = state.read, signs == state.signs,
                now - read < .seconds(Self.readSeconds)
            {
                return snapshot
            }
            let killSwitch = KillSwitch(place).state(flags: flags)
            let snapshot = FleetSnapshot(
                number: (state.snapshot?.number ?? 0) + 1,
                time: Date(),
                killSwitch: killSwitch,
                newEngine: killSwitch.newEngine,
                fleet: overview(&state, isRunning: signs.isRunning)
            )
            (state.signs, state.snapshot, state.read) = (signs, snapshot, now)
            return snapshot
        }
    }

    /// The current signs of change.
    private func signs(_ state: inout State) -> FleetSigns {
        let index = FleetSigns.File(folder.index)
        if state.index?.identity.isSameFile(as: index) != true { state.index = nil }
        // The overview reports why it cannot be opened.
        _ = try? self.index(&state)
        let version = (try? state.index?.index.dataVersion()) ?? 0
        return FleetSigns(folder, place, flags: flags, version: version, isRunning: fleet.isRunning)
    }

    private func overview(_ state: inout State, isRunning: Bool) -> Result<FleetOverview, HabitStoreError> {
        do {
            let members = try members(&state)
            return .success(try overview(members, index(&state), &state.lags, isRunning: isRunning))
        } catch {
            // Drop what was known of files that cannot be read.
            (state.index, state.members) = (nil, nil)
            let known = error as? HabitStoreError
            return .failure(
                known
                    ?? HabitStoreError(.inputOutput, "the fleet cannot be read: \(error)", at: .init(path: folder.path))
            )
        }
    }

    private func members(_ state: inout State) throws -> FleetMembers {
        let identity = FleetSigns.File(folder.members)
        if let known = state.members, known.identity == identity { return known.members }
        let members = try FleetMembers.load(folder.members)
        state.members = (identity, members)
        return members
    }

    private func index(_ state: inout State) throws -> FleetIndex {
        if let known = state.index { return known.index }
        let identity = FleetSigns.File(folder.index)
        let index = try FleetIndex.open(folder)
        state.index = (identity, index)
        return index
    }

    private func overview(
        _ members: FleetMembers,
        _ index: FleetIndex,
        _ lags: inout [FleetOverview.Lag],
        isRunning: Bool
    ) throws -> FleetOverview {
        let plan = try fleet.plan()
        let ledger = try fleet.readLedger(by: index)
        let names = FleetNames(salt: members.salt, root: place.path, showsUsers: showsUsers)
        var status = try FleetStatus(
            plan: plan,
            members: members,
            index: index,
            ledger: ledger,
            signals: FleetSignals(folder: folder),
            root: place.path,
            isRunning: isRunning
        )
        fleet.noteHooks(in: &status, plan, ledger)
        let sums = try index.sums()
        let lag = FleetOverview.Lag(
            time: Date(),
            users: sums.lagging,
            transactions: sums.lag,
            most: sums.mostLag
        )
        if lags.last.map({ lag.time.timeIntervalSince($0.time) >= Self.lagSeconds }) ?? true {
            lags = lags.suffix(Self.keptLags - 1) + [lag]
        }
        return try FleetOverview(
            plan,
            status,
            sums,
            lag,
            lags,
            ledger,
            index,
            FleetSignals(folder: folder),
            names,
            lastRehearsal: lastRehearsal(index)
        )
    }

    /// From the user's evidence, a file. The doctor reports unreadable evidence.
    private func lastRehearsal(_ index: FleetIndex) throws -> FleetOverview.Rehearsal? {
        guard let user = try index.lastServed(), let directory = try? UserDirectory(root: place.path, user: user),
            let last = try? EvidenceLog(directory).summary().lastRehearsal
        else { return nil }
        return FleetOverview.Rehearsal(time: last.time, isClean: last.isClean)
    }
}

/// What ``FleetWatch`` has read at one time.
public struct FleetSnapshot: Sendable {
    /// A number that changes with every reading.
    public let number: Int
    /// When the files were read.
    public let time: Date
    /// The state of the kill switch.
    public let killSwitch: KillSwitch.State
    /// The engine to which the flags move users; nil if they do not say.
    public let newEngine: String?
    /// The fleet's status, or why it cannot be read.
    public let fleet: Result<FleetOverview, HabitStoreError>
}

/// Detects changes of a fleet: in its files, the kill switch's files, the index's change counter, and whether a run is at work.
struct FleetSigns: Hashable {
    /// A file's identity and modification, from `lstat`.
    struct File: Hashable {
        private let device: UInt64
        private let number: UInt64
        private let size: Int64
        private let seconds: Int64
        private let nanoseconds: Int64

        init(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else {
                (device, number, size, seconds, nanoseconds) = (0, 0, -1, 0, 0)
                return
            }
            #if canImport(Darwin)
            let changed = status.st_mtimespec
            #else
            let changed = status.st_mtim
            #endif
            (device, number, size) = (
                UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino), Int64(status.st_size)
            )
            (seconds, nanoseconds) = (Int64(changed.tv_sec), Int64(changed.tv_nsec))
        }

        /// Whether it is the same file, even if it was written to.
        func isSameFile(as other: File) -> Bool { size >= 0 && device == other.device && number == other.number }
    }

    private let files: [File]
    private let version: Int
    /// Whether a run is at work.
    let isRunning: Bool

    /// - Parameters:
    ///   - flags: the flag file; nil for none.
    ///   - version: the index's change counter.
    init(_ folder: FleetFolder, _ place: StoreRoot, flags: String?, version: Int, isRunning: Bool) {
        let paths =
            [
                folder.ledger, folder.members, folder.halted, folder.paused, folder.plan + ".json",
                folder.plan + ".yaml", folder.hooks, DifferenceMarks(root: place.path).path,
            ]
            + KillSwitch(place).paths + [flags].compactMap { $0 }
        // A replaced database starts its counter again.
        files = (paths + [folder.index]).map(File.init)
        (self.version, self.isRunning) = (version, isRunning)
    }
}
