import FeatureFlags
import Foundation
import HabitStore
import HabitStoreRollout

extension Fleet {
    /// What came of pulling the kill switch.
    public struct Kill: Sendable {
        /// Whether the sentinel file was not there before.
        public let isNew: Bool
        /// Why the fleet's ledger has no line of it, in one line; nil where it has one.
        public let unrecorded: String?
    }

    /// Pulls the kill switch for everybody by the sentinel file, as `habitstore flags kill` does: whoever has stores open acts on it. It
    /// needs neither a fleet nor an index, and is done even where it cannot be written into the ledger.
    ///
    /// - Throws: what keeps the sentinel file from being made: nobody is killed then.
    public func kill(by person: String, because reason: String) throws -> Kill {
        let isNew = try SentinelFile(path: RolloutFlags.sentinelPath(root: root)).create()
        do {
            try requireFleet()
            try ledger.append(.killed(by: person, because: Passwords.redacted(reason)))
            return Kill(isNew: isNew, unrecorded: nil)
        } catch {
            return Kill(isNew: isNew, unrecorded: (error as? HabitStoreError)?.description ?? "\(error)")
        }
    }

    /// Writes down that a kill of everybody has landed, where there is a fleet.
    ///
    /// - Parameters:
    ///   - failed: how many users could not be taken back.
    ///   - seconds: how long it took from the pull.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` where the ledger cannot be written.
    public func noteKill(by person: String, users: Int, failed: Int, seconds: Double) throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try ledger.append(.killLanded(by: person, users: users, failed: failed, seconds: seconds))
    }

    /// Has the index know where users are whom a kill has taken back, where there is one: ``status()`` asks nothing else.
    ///
    /// - Parameter stores: the users of the root.
    /// - Throws: what keeps the fleet's files from being read or written.
    public func noteTakenBack(_ users: [String], in stores: UserStores) throws {
        guard FileManager.default.fileExists(atPath: folder.index) else { return }
        let (plan, index) = (try plan(), try FleetIndex.open(folder))
        let taken = Set(users.map { UserKey($0) })
        // Nobody has looked at who is not begun with.
        var entries = try index.entries().filter { $0.stage != nil && taken.contains(UserKey($0.user)) }
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        for (place, found) in mover.look(at: entries.map(\.user)).enumerated() { entries[place].take(found, plan) }
        try index.note(entries)
    }
}
