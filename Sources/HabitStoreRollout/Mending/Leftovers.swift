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

        /// The folder that this version makes.
        func folder(in directory: UserDirectory) -> String { directory.path + "/" + prefix + Leftovers.name }

        /// Makes the folder, which holds the copies themselves.
        func makeFolder(in directory: UserDirectory) throws -> String {
            let folder = folder(in: directory)
            try PrivateFolder.make(
                folder,
                isNew: true,
                or: .inputOutput,
                "no folder for copies can be made; check the permissions and the space of the user's folder"
            )
            return folder
        }

        /// Takes the lock of whoever makes such copies.
        func lock(in directory: UserDirectory, waitSeconds: Double) throws -> FileLock {
            try FileLock(path: directory.path + "/" + lock, timeoutSeconds: waitSeconds)
        }
    }

    static let rehearsals = Kind(prefix: "rehearsal-", lock: "rehearsing.lock", copies: ["rehearsal"], isRoot: true)
    static let selfComparisons = Kind(
        prefix: "self-comparison-",
        lock: "self-comparing.lock",
        copies: ["copy", "second"],
        isRoot: false
    )
    static let retirements = Kind(
        prefix: "retirement-",
        lock: "retiring.lock",
        copies: ["left", "serving"],
        isRoot: false
    )
    /// Of a restore that was not decided, or was finished.
    static let restorations = Kind(
        prefix: Restoration.draftPrefix,
        lock: "restoring.lock",
        copies: [],
        isRoot: false
    )
    static let kinds = [rehearsals, selfComparisons, retirements, restorations]

    /// The end of the name that this version gives; earlier ones gave random ones.
    static let name = Restoration.draftName

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
            let place = try kind.isRoot ? directory.inRoot(folder).path : folder
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
                guard lstat(kind.folder(in: directory), &status) == 0 else { continue }
            } else if try folders(kind, in: directory).isEmpty {
                continue
            }
            do {
                let lock = try kind.lock(in: directory, waitSeconds: 0)
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
