#if CRASH_POINTS
import Foundation
import Synchronization

/// Named places at which a test kills the process: `HABITSTORE_CRASH_POINT=mirror.committed:3` kills it when it reaches `mirror.committed` for the
/// third time. Only in builds with `CRASH_POINTS`.
package enum CrashPoint {
    private static let wanted: (name: String, count: Int)? = {
        guard let text = ProcessInfo.processInfo.environment["HABITSTORE_CRASH_POINT"] else { return nil }
        let parts = text.split(separator: ":")
        return (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }()
    private static let reached = Atomic<Int>(0)

    /// All names that moves of users reach, for tests that iterate over them.
    package static let all = [
        "write.began", "write.beforeCommit", "write.committed", "mirror.began", "mirror.beforeCommit",
        "mirror.committed", "live.mirrored", "live.committed", "settle.replayed", "backfill.begun", "backfill.emptying",
        "backfill.chunk", "backfill.copied",
        "switch.locked", "switch.sealed", "switch.drained", "switch.claimed", "switch.opened", "switch.finished",
        "kill.latched", "kill.fenced", "prune.authority", "prune.mirror", "evidence.appended", "evidence.anchored",
        "evidence.checkpointed",
        "evidence.archived", "evidence.shortened", "evidence.reset", "selfComparison.copied",
        "retire.told", "retire.disowned", "retire.removed",
    ]

    /// Those of backups, restores, erasures and rebuilt stores, which moves of users do not reach.
    package static let keeping = [
        "backup.listed", "backup.copied", "backup.written", "backup.published", "restore.copied", "restore.sealed",
        "restore.decided", "restore.aside", "restore.placed", "restore.told", "restore.role", "restore.opened",
        "restore.finished", "erase.elsewhere", "erase.decided", "erase.backup", "erase.backups", "erase.stores",
        "erase.files", "erase.renamed", "resync.told", "resync.aside",
    ]

    /// Those reached only for users whose stores other machines can reach.
    package static let shared = ["switch.decided"]

    static func reach(_ name: String) {
        guard let wanted, wanted.name == name, reached.add(1, ordering: .relaxed).newValue == wanted.count else {
            return
        }
        kill(getpid(), SIGKILL)
    }
}
#else
/// Named places at which tests kill the process; empty without `CRASH_POINTS`.
package enum CrashPoint {
    /// Always empty.
    package static let all: [String] = []

    /// Always empty.
    package static let keeping: [String] = []

    /// Always empty.
    package static let shared: [String] = []

    @inline(__always) static func reach(_ name: StaticString) {}
}
#endif
