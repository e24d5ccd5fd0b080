import DurableFiles
import Foundation
import HabitStore

/// A fleet's files under the root of its users: `ROOT/fleet`, accessible to its owner only.
struct FleetFolder: Sendable {
    let path: String

    init(root: String) { path = URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent("fleet").path }

    private init(path: String) { self.path = path }

    /// The folder of a first drawing, which is renamed when it is complete.
    var draft: FleetFolder { FleetFolder(path: path + ".new") }

    /// The users of each wave, drawn once.
    var members: String { path + "/members.tsv" }
    /// The plan of the last drawing, unchanged.
    var plan: String { path + "/plan" }
    /// The record of what was done, one line for each event.
    var ledger: String { path + "/ledger.jsonl" }
    /// The index of all users, which can be rebuilt.
    var index: String { path + "/fleet.sqlite" }
    /// The index while it is rebuilt.
    var indexDraft: String { index + ".new" }
    /// The hooks' positions in the ledger.
    var hooks: String { path + "/hooks.json" }
    /// Locked by the process that notifies hooks.
    var hooksLease: String { path + "/hooks.lock" }
    /// Locked by the process that moves users.
    var lease: String { path + "/run.lock" }
    /// Exists while no user may be moved, and contains the reason.
    var halted: String { path + "/halted" }
    /// Exists while no user may be started, and contains the reason.
    var paused: String { path + "/paused" }

    /// Reads one of the files without blocking.
    ///
    /// - Parameter what: the file's description for errors.
    /// - Returns: nil if there is no file.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it is not a regular file or cannot be read.
    static func contents(_ path: String, _ what: String) throws -> Data? {
        do {
            // Opening a pipe without a writer would block forever.
            let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
            guard try file.status().st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(
                    .inputOutput,
                    "\(what) must be in a regular file",
                    at: .init(path: path)
                )
            }
            return try file.contents()
        } catch let failure as FileFailure {
            if failure.number == ENOENT { return nil }
            throw HabitStoreError(
                failure.number == EACCES ? .permissionDenied : .inputOutput,
                "\(what) cannot be read: \(failure.reason)",
                at: .init(path: path)
            )
        }
    }

    /// Creates the folder.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if that fails.
    func make() throws {
        try PrivateFolder.make(
            path,
            or: .permissionDenied,
            "the fleet's folder cannot be made; check the root's permissions and space"
        )
    }
}
