import FeatureFlags
import FlagTools
import Foundation
import HabitStore
import HabitStoreRollout

/// The two triggers of the kill switch: the flag in the flag file, and the sentinel file.
struct KillTriggers {
    /// What pulling came to.
    struct Pulled {
        let isFlagSet: Bool
        /// Why it is not.
        let flagFailure: FlagError?
    }

    /// What taking back came to.
    struct Rearmed {
        let isFlagRearmed: Bool
        /// The sentinel file that was removed.
        let removedSentinel: String?
    }

    /// The kill flag's key.
    let flag: String
    /// The flag file.
    let file: String
    /// nil if it is unknown which one the flag file's readers look for.
    let sentinel: SentinelFile?
    /// Whether the sentinel's folder is made where it is missing: the root may not be there yet.
    let makesFolder: Bool
    let by: KillOptions.Trigger
    /// Only these users; nil for everybody.
    let users: [String]?
    /// The store that they are about; nil for those without a name, and where the sentinel file stands for all.
    let store: StoreName?

    /// For whom they are, in words.
    var whom: String {
        (users.map { $0.joined(separator: ", ") } ?? "everybody") + (store.map { " in the store \($0.text)" } ?? "")
    }

    /// The sentinel file's path, where it is there and these triggers are for everybody.
    var presentSentinel: String? { users == nil ? sentinel.flatMap { $0.isPresent ? $0.path : nil } : nil }

    /// Pulls the triggers that are asked for. For everybody each is tried, whatever became of the other, and it is an error
    /// only where none of them works.
    func pull() throws -> Pulled {
        if let users {
            do throws(FlagError) {
                try FlagFile.update(path: file) { (text) throws(FlagError) in try text.killing(flag, users: users) }
            } catch {
                StandardError.note("nobody is killed; without --users the sentinel file stops everybody")
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
                    StandardError.note("nobody is killed; \(unknownRoot.message)")
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
            StandardError.note("the flag does it alone: \(sentinelFailure)")
        }
        return Pulled(isFlagSet: isFlagSet, flagFailure: flagFailure)
    }

    /// Takes the triggers back, the flag first: where that fails the sentinel stays, and the kill switch with it.
    ///
    /// - Throws: why the flag cannot be taken back; for everybody a flag that is not there is not pulled, and no error.
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

    /// Advice for a flag file that belongs to no known root.
    private var unknownRoot: CommandFailure {
        .usage(
            "the sentinel file of the root that \(file) belongs to is not known: name it with --sentinel "
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
