import Foundation
import HabitStore

/// Copies of a user's stores that are made for a while: a process that was killed leaves them, and they hold a person's
/// records.
enum Leftovers {
    /// What the folders' names begin with, and the lock that whoever makes them holds.
    static let kinds = [
        (prefix: "rehearsal-", lock: "rehearsing.lock"), (prefix: "self-comparison-", lock: "self-comparing.lock"),
    ]
    /// The end of the name that this version gives; earlier ones gave random ones.
    static let name = "copies"

    /// The folders of a kind.
    static func folders(_ prefix: String, in directory: UserDirectory) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix(prefix) }
                .map { directory.path + "/" + $0 }
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the user's folder cannot be read",
                at: .init(path: directory.path),
                underlying: error
            )
        }
    }

    /// Removes the folders of a kind. The caller holds the lock of who makes them.
    static func remove(_ prefix: String, in directory: UserDirectory) throws {
        for folder in try folders(prefix, in: directory) {
            do {
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                throw HabitStoreError(
                    .inputOutput,
                    "copies of the stores that are not needed any more cannot be removed",
                    at: .init(path: folder),
                    underlying: error
                )
            }
        }
    }

    /// Removes what nobody is at work on.
    ///
    /// - Parameter onlyKnown: whether to look for the names of this version only, which takes no reading of the folder.
    /// - Returns: whether there was anything.
    @discardableResult
    static func removeUnused(in directory: UserDirectory, onlyKnown: Bool) throws -> Bool {
        var isFound = false
        for (prefix, lock) in kinds {
            if onlyKnown {
                var status = stat()
                guard lstat(directory.path + "/" + prefix + name, &status) == 0 else { continue }
            } else if try folders(prefix, in: directory).isEmpty {
                continue
            }
            do {
                let lock = try FileLock(path: directory.path + "/" + lock, timeoutSeconds: 0)
                defer { withExtendedLifetime(lock) {} }
                try remove(prefix, in: directory)
                isFound = true
            } catch let error as HabitStoreError where error.code == .busy {
                // Somebody is making them just now.
                continue
            }
        }
        return isFound
    }
}
