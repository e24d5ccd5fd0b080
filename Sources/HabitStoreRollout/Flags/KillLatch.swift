import DurableFiles
import Foundation
import HabitStore

/// Remembers under the root that the kill switch was pulled for everybody, until somebody re-arms: a file whose existence
/// is the memory, as the sentinel's is the signal.
struct KillLatch: Sendable {
    private static let name = "habit-store.killed"

    /// The file.
    let path: String

    init(root: String) { path = root + "/" + Self.name }

    /// Whether the kill switch was pulled and not re-armed.
    var isSet: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Remembers it, and what pulled it.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` or ``HabitStoreError/Code/full`` when the file cannot be made, or nobody
    ///   can say that it is on the disk.
    func set(by trigger: String) throws {
        do {
            _ = try MarkerFile.make(path, trigger + "\n")
        } catch {
            throw Self.error(error)
        }
    }

    /// Forgets it.
    func clear() throws {
        do {
            _ = try MarkerFile.remove(path)
        } catch {
            throw Self.error(error)
        }
    }

    private static func error(_ failure: FileFailure) -> HabitStoreError {
        HabitStoreError(
            failure.number == ENOSPC ? .full : .inputOutput,
            "the file that remembers the kill switch \(failure)",
            at: .init(path: failure.path)
        )
    }
}
