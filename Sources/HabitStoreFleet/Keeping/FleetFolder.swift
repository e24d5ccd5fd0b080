import DurableFiles
import Foundation
import HabitStore

/// What a fleet keeps under the root of its users: `ROOT/fleet`, for its owner only.
struct FleetFolder: Sendable {
    let path: String

    init(root: String) { path = URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent("fleet").path }

    private init(path: String) { self.path = path }

    /// Where a first drawing is made ready: it gets the folder's name when all of it is there.
    var draft: FleetFolder { FleetFolder(path: path + ".new") }

    /// Who is in which wave: drawn once.
    var members: String { path + "/members.tsv" }
    /// The plan that was drawn by last, as it was written.
    var plan: String { path + "/plan" }
    /// What was done, one line each.
    var ledger: String { path + "/ledger.jsonl" }
    /// What is known of everybody, which can be found out again.
    var index: String { path + "/fleet.sqlite" }
    /// The same while it is made anew.
    var indexDraft: String { index + ".new" }
    /// How far each hook was told.
    var hooks: String { path + "/hooks.json" }
    /// Held by who tells hooks.
    var hooksLease: String { path + "/hooks.lock" }
    /// Held by who moves users.
    var lease: String { path + "/run.lock" }
    /// Is there while nobody is to be moved, and says why.
    var halted: String { path + "/halted" }
    /// Is there while nobody is to be begun with, and says why.
    var paused: String { path + "/paused" }

    /// Reads one of the files; nobody is waited for.
    ///
    /// - Parameter what: the file, in words.
    /// - Returns: nil where there is none.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` for what is no file, or cannot be read.
    static func contents(_ path: String, _ what: String) throws -> Data? {
        do {
            // A pipe that nobody writes to would be waited for for ever.
            let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
            guard try file.status().st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(
                    .inputOutput,
                    "what stands in the place of \(what) is not a file",
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
