import FeatureFlags
import FlagTools
import Foundation
import HabitStore
import HabitStoreRollout

/// The two triggers of the kill switch: the flag in the flag file, and the sentinel file.
struct KillTriggers {
    /// The result of pulling the triggers.
    struct Pulled {
        let isFlagSet: Bool
        /// Why it is not set.
        let flagFailure: FlagError?
    }

    /// The result of re-arming.
    struct Rearmed {
        let isFlagRearmed: Bool
        /// The sentinel file that was removed.
        let removedSentinel: String?
    }

    /// The kill flag's key.
    let flag: String
    let file: String
    /// Nil if it is unknown which one the readers of the flag file check.
    let sentinel: SentinelFile?
    /// Whether to create a missing folder for the sentinel file: the root may not exist yet.
    let makesFolder: Bool
    let by: KillOptions.Trigger
    /// Only these users; nil for all.
    let users: [String]?
    /// The store to kill; nil for unnamed stores, or if the sentinel file is for all.
    let store: StoreName?

    /// The users to kill, in words.
    var whom: String {
        (users.map { $0.joined(separator: ", ") } ?? "everybody") + (store.map { " in the store \($0.text)" } ?? "")
    }

    /// The sentinel file's path, if it exists and these triggers are for all users.
    var presentSentinel: String? { users == nil ? sentinel.flatMap { $0.isPresent ? $0.path : nil } : nil }

    /// Pulls the requested triggers. For all users, each is tried even if the other fails, and only the failure of all is an error. If only the flag
    /// was requested and cannot be set, the sentinel file replaces it.
    func pull() throws -> Pulled {
        if let users {
            do throws(FlagError) {
                try FlagFile.update(path: file) { (text) throws(FlagError) in try text.killing(flag, users: users) }
            } catch {
                StandardError.note("no user is killed; without --users the sentinel file kills everybody")
                throw error
            }
            return Pulled(isFlagSet: true, flagFailure: nil)
        }
        guard sentinel != nil || by != .sentinel else { throw unknownRoot }
        var sentinelFailure: (any Error)?
        if by != .flag {
            do { try makeSentinel() } catch { sentinelFailure = error }
        }
        var flagFailure: FlagError?
        if by != .sentinel {
            do throws(FlagError) {
                try FlagFile.update(path: file) { (text) throws(FlagError) in try text.killing(flag) }
            } catch {
                if sentinel == nil {
                    StandardError.note("no user is killed; \(unknownRoot.message)")
                    throw error
                }
                flagFailure = error
                StandardError.note("the flag is not set: \(error)")
                if by == .flag { try makeSentinel() }
            }
        }
        let isFlagSet = by != .sentinel && flagFailure == nil
        if let sentinelFailure {
            guard isFlagSet else { throw sentinelFailure }
            StandardError.note("only the flag kills: \(sentinelFailure)")
        }
        return Pulled(isFlagSet: isFlagSet, flagFailure: flagFailure)
    }

    /// Re-arms the triggers, the flag first: if that fails, the sentinel file stays, and the kill switch with it.
    ///
    /// - Throws: why the flag cannot be re-armed. For all users, a missing flag is not an error.
    func rearm() throws -> Rearmed {
        var isFlagRearmed = false
        if by != .sentinel {
            do throws(FlagError) {
                let (old, new) = try FlagFile.update(path: file) { (text) throws(FlagError) in
                    try text.rearming(flag, users: users)
                }
                isFlagRearmed = old.bytes != new.bytes
            } catch {
                guard users == nil, error.code == .flagNotFound || error.code == .fileNotFound else { throw error }
                StandardError.note("\(error)")
            }
        }
        var removed: String?
        if by != .flag, users == nil, let sentinel, try sentinel.remove() { removed = sentinel.path }
        return Rearmed(isFlagRearmed: isFlagRearmed, removedSentinel: removed)
    }

    /// The error for a flag file whose root is unknown.
    private var unknownRoot: CommandFailure {
        .usage(
            "the sentinel file of the root that \(file) belongs to is unknown: name it with --sentinel "
                + "ROOT/\(RolloutFlags.sentinelName), or run `\(Tool.name) rollout kill --root ROOT`"
        )
    }

    private func makeSentinel() throws {
        guard let sentinel else { return }
        let folder = URL(fileURLWithPath: sentinel.path).deletingLastPathComponent()
        if makesFolder, !FileManager.default.fileExists(atPath: folder.path) {
            try PrivateFolder.make(
                folder.path,
                or: .permissionDenied,
                "the folder of the kill file cannot be made; check the permissions above it"
            )
        }
        try sentinel.create()
    }
}
