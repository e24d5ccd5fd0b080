import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// The hooks' positions in the ledger: `hooks.json` in the fleet's folder. The lines after its position are pending for a hook.
///
/// Only the process that holds the lock next to the file writes it. If the file is lost, all lines are delivered again, with the same identifiers.
final class HookPlaces: Sendable {
    /// The position of a hook.
    struct Place: Codable, Sendable, Hashable {
        /// The number and hash of the last line that was delivered; nil for none.
        var told: String?
        /// When that line was delivered.
        var toldAt: Date?
        /// Why the last try failed, and since when tries have failed; nil after a success.
        var failure: String?
        var failingSince: Date?
    }

    private struct File: Codable {
        var version = 1
        var hooks: [String: Place] = [:]
    }

    private let path: String
    private let file: Mutex<File>

    /// Reads the file; without one, nothing was delivered yet.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if it is damaged.
    init(_ folder: FleetFolder) throws {
        path = folder.hooks
        guard let data = try FleetFolder.contents(path, "the file of the hooks' progress") else {
            file = Mutex(File())
            return
        }
        guard let known = try? JSONDecoder().decode(File.self, from: data), known.version == 1 else {
            throw HabitStoreError(
                .corrupt,
                "the file of the hooks' progress is damaged; remove it, and they get every line of the ledger again",
                at: .init(path: path)
            )
        }
        file = Mutex(known)
    }

    /// The position of a hook; nil if it is unknown.
    subscript(hook: String) -> Place? { file.withLock { $0.hooks[hook] } }

    /// Changes a hook's position and writes it to disk.
    ///
    /// - Throws: why it could not be written; this process uses the new position anyway.
    func update(_ hook: String, _ change: (inout Place) -> Void) throws {
        try file.withLock { file in
            let before = file.hooks[hook]
            change(&file.hooks[hook, default: Place()])
            guard file.hooks[hook] != before else { return }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            do {
                try DurableFile.replace(path, try encoder.encode(file), draft: path + ".new")
            } catch let failure as FileFailure {
                throw HabitStoreError.system(failure, "the file of the hooks' progress")
            }
        }
    }
}
