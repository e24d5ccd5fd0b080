import Foundation
import HabitStore

/// What a fleet keeps under the root of its users: `ROOT/fleet`, for its owner only.
struct FleetFolder: Sendable {
    let path: String

    init(root: String) { path = URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent("fleet").path }

    /// Who is in which wave: drawn once.
    var members: String { path + "/members.tsv" }
    /// The plan that was drawn by last, as it was written.
    var plan: String { path + "/plan" }
    /// What was done, one line each.
    var ledger: String { path + "/ledger.jsonl" }
    /// What is known of everybody, which can be found out again.
    var index: String { path + "/fleet.sqlite" }
    /// Held by who moves users.
    var lease: String { path + "/run.lock" }
    /// Is there while nobody is to be moved, and says why.
    var halted: String { path + "/halted" }
    /// Is there while nobody is to be begun with, and says why.
    var paused: String { path + "/paused" }

    /// Makes the folder.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` where that is refused.
    func make() throws {
        try PrivateFolder.make(
            path,
            or: .permissionDenied,
            "the fleet's folder cannot be made; check the root's permissions and space"
        )
    }
}
