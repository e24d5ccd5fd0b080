import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// How far each hook was told: `hooks.json` in the fleet's folder. What is owed to a hook are the lines of the ledger after its place.
///
/// The file is written by one process at a time, whoever holds the lock beside it. Where it is lost, all lines are told again, each by
/// the identifier that it had.
final class HookPlaces: Sendable {
    /// Where a hook is.
    struct Place: Codable, Sendable, Hashable {
        /// Number and hash of the last line that was told; nil for none.
        var told: String?
        /// When that was.
        var toldAt: Date?
        /// Why the last try failed, and since when tries do; nil where it did not.
        var failure: String?
        var failingSince: Date?
    }

    private struct File: Codable {
        var version = 1
        var hooks: [String: Place] = [:]
    }

    private let path: String
    private let file: Mutex<File>

    /// Reads the file; where there is none, nobody was told anything.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for one that is damaged.
    init(_ folder: FleetFolder) throws {
        path = folder.hooks
        guard let data = try FleetFolder.contents(path, "the file of how far hooks were told") else {
            file = Mutex(File())
            return
        }
        guard let known = try? JSONDecoder().decode(File.self, from: data), known.version == 1 else {
            throw HabitStoreError(
                .corrupt,
                "the file of how far hooks were told is damaged; remove it, and they are told every line of the ledger again",
                at: .init(path: path)
            )
        }
        file = Mutex(known)
    }

    /// Where a hook is; nil for one of which nothing is known.
    subscript(hook: String) -> Place? { file.withLock { $0.hooks[hook] } }

    /// Changes where a hook is, and brings it to the disk.
    ///
    /// - Throws: why it could not be written; it counts for this process all the same.
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
                throw HabitStoreError.system(failure, "the file of how far hooks were told")
            }
        }
    }
}
