import Foundation
@_spi(Engines) import HabitStore

/// Copies of a user's stores that are made for a while: a process that was killed leaves them, and they hold a person's
/// records.
enum Leftovers {
    struct Kind {
        /// What the folders' names begin with.
        let prefix: String
        /// The lock that whoever makes them holds.
        let lock: String
        /// What the copies are called.
        let copies: [String]
        /// Whether a folder has folders of users, as a root has.
        let isRoot: Bool
    }

    static let rehearsals = Kind(prefix: "rehearsal-", lock: "rehearsing.lock", copies: ["rehearsal"], isRoot: true)
    static let selfComparisons = Kind(
        prefix: "self-comparison-",
        lock: "self-comparing.lock",
        copies: ["copy", "second"],
        isRoot: false
    )
    static let kinds = [rehearsals, selfComparisons]

    /// The end of the name that this version gives; earlier ones gave random ones.
    static let name = "copies"

    /// The folders of a kind.
    static func folders(_ kind: Kind, in directory: UserDirectory) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
                .filter { $0.hasPrefix(kind.prefix) }.map { directory.path + "/" + $0 }
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the user's folder cannot be read",
                at: .init(path: directory.path),
                underlying: error
            )
        }
    }

    /// Removes the folders of a kind, and what an engine keeps of them elsewhere. The caller holds the lock of who makes them.
    static func remove(_ kind: Kind, in directory: UserDirectory, _ engines: Engines) throws {
        for folder in try folders(kind, in: directory) {
            // As long as the folder is there somebody knows of them.
            let place = try kind.isRoot ? UserDirectory(root: folder, user: directory.user).path : folder
            for name in kind.copies {
                let copies = try engines.copied(as: name, by: directory)
                for engine in copies.names {
                    try copies.discard(copies.address(engine, ofUser: directory.user, inFolder: place))
                }
            }
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
    static func removeUnused(in directory: UserDirectory, _ engines: Engines, onlyKnown: Bool) throws -> Bool {
        var isFound = false
        for kind in kinds {
            if onlyKnown {
                var status = stat()
                guard lstat(directory.path + "/" + kind.prefix + name, &status) == 0 else { continue }
            } else if try folders(kind, in: directory).isEmpty {
                continue
            }
            do {
                let lock = try FileLock(path: directory.path + "/" + kind.lock, timeoutSeconds: 0)
                defer { withExtendedLifetime(lock) {} }
                try remove(kind, in: directory, engines)
                isFound = true
            } catch let error as HabitStoreError where error.code == .busy {
                // Somebody is making them just now.
                continue
            }
        }
        return isFound
    }
}
