import Foundation
import HabitStore

/// The right to copy into a user's stores: one copy at a time, over all processes.
///
/// It only saves work: each copy checks in every transaction that it does no harm (see ``Backfill``). So a copy that makes no progress is overtaken,
/// and wakes to an error.
final class CopyTurn: Sendable {
    /// nil if the holder was overtaken.
    private let lock: FileLock?

    /// Waits for the right as long as the copy that has it makes progress.
    ///
    /// - Parameters:
    ///   - waitSeconds: how long to wait without progress.
    ///   - progress: describes the progress of the running copy.
    /// - Throws: system errors, and what `progress` throws.
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

    /// Takes the right if no copy has it.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if one has.
    init(_ directory: UserDirectory) throws { lock = try FileLock(path: Self.path(directory), timeoutSeconds: 0) }

    static let fileName = "copy.lock"

    private static func path(_ directory: UserDirectory) -> String { directory.path + "/" + fileName }
}
