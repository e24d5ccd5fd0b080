import FeatureFlags
import Foundation
import HabitStore
import HabitStoreRollout

extension Fleet {
    /// The result of pulling the kill switch.
    public struct Kill: Sendable {
        /// Whether the sentinel file did not exist before.
        public let isNew: Bool
        /// Why the ledger does not record the kill, in one line; nil if it does.
        public let unrecorded: String?
    }

    /// Pulls the kill switch for all users with the sentinel file, as `habitstore flags kill` does: processes with open stores react to it. It needs
    /// neither a fleet nor an index, and takes effect even if the ledger cannot be written.
    ///
    /// - Throws: an error if the sentinel file cannot be created; no user is killed then.
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

    /// Records that a kill of all users was applied, if there is a fleet.
    ///
    /// - Parameters:
    ///   - failed: how many users could not be taken back.
    ///   - seconds: the time since the kill switch was pulled.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the ledger cannot be written.
    public func noteKill(by person: String, users: Int, failed: Int, seconds: Double) throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try ledger.append(.killLanded(by: person, users: users, failed: failed, seconds: seconds))
    }

    /// Updates the index, if there is one, for users whom a kill has taken back: ``status()`` reads only the index.
    ///
    /// - Parameter stores: the users of the root.
    /// - Throws: an error if the fleet's files cannot be read or written.
    public func noteTakenBack(_ users: [String], in stores: UserStores) throws {
        guard FileManager.default.fileExists(atPath: folder.index) else { return }
        let (plan, index) = (try plan(), try FleetIndex.open(folder))
        let taken = Set(users.map { UserKey($0) })
        // No run has examined users who were not started yet.
        var entries = try index.entries().filter { $0.stage != nil && taken.contains(UserKey($0.user)) }
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        for (place, found) in mover.look(at: entries.map(\.user)).enumerated() { entries[place].take(found, plan) }
        try index.note(entries)
    }
}
