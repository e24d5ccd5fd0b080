import Foundation
import HabitStore

/// The turn to copy into a user's stores: one copy at a time, of all processes.
///
/// It saves work. That a copy does no harm, each proves for itself in each transaction (see ``Backfill``), so one whose process
/// does not go on is passed by: it wakes to a refusal.
final class CopyTurn: Sendable {
    /// Nil where the holder was passed by.
    private let lock: FileLock?

    /// Waits for the turn, for as long as the copy that has it goes on.
    ///
    /// - Parameters:
    ///   - waitSeconds: how long no progress may be seen.
    ///   - progress: how far the copy is that goes on.
    /// - Throws: what the system says, and what `progress` throws.
    init(_ directory: UserDirectory, waitSeconds: Double, progress: () throws -> String?) throws {
        var seen = try progress()
        while true {
            do {
                lock = try FileLock(path: Self.path(directory), timeoutSeconds: waitSeconds)
                return
            } catch let error as HabitStoreError where error.code == .busy {
                let now = try progress()
                guard now != seen else { break }
                seen = now
            }
        }
        lock = nil
    }

    /// Takes the turn if nobody has it.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when somebody has.
    init(_ directory: UserDirectory) throws { lock = try FileLock(path: Self.path(directory), timeoutSeconds: 0) }

    private static func path(_ directory: UserDirectory) -> String { directory.path + "/copy.lock" }
}
