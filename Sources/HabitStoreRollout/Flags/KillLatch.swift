import DurableFiles
import Foundation
import HabitStore

/// Records under the root that the kill switch was pulled for all users, until a person re-arms it. Only the file's existence counts, as with the
/// sentinel file.
struct KillLatch: Sendable {
    private static let name = "habit-store.killed"

    let path: String

    init(root: String) { path = root + "/" + Self.name }

    /// Whether the kill switch was pulled and not re-armed since.
    var isSet: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Records the kill, and what pulled the switch.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` or ``HabitStoreError/Code/full`` if the file cannot be made durable.
    func set(by trigger: String) throws {
        do {
            _ = try MarkerFile.make(path, trigger + "\n")
        } catch {
            throw Self.error(error)
        }
    }

    /// Removes the record.
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
