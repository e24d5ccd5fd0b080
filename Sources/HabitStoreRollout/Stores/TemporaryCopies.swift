import Foundation
@_spi(Engines) import HabitStore

/// Temporary copies of a user's stores, with the user's records, left by killed processes.
enum TemporaryCopies {
    struct Kind {
        /// The prefix of the folders' names.
        let prefix: String
        /// The lock that their maker holds.
        let lock: String
        /// The names of the copies.
        let copies: [String]
        /// Whether the folder contains users' folders, as a root does.
        let isRoot: Bool

        /// The folder of this version.
        func folder(in directory: UserDirectory) -> String { directory.path + "/" + prefix + TemporaryCopies.name }

        /// Makes the folder, which contains the copies.
        func makeFolder(in directory: UserDirectory) throws -> String {
            let folder = folder(in: directory)
            try PrivateFolder.make(
                folder,
                isNew: true,
                or: .inputOutput,
                "cannot create a folder for copies; check the permissions and space of the user's folder"
            )
            return folder
        }

        /// Takes the lock for making such copies.
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
    /// Those of a restore that was not decided, or is finished.
    static let restorations = Kind(
        prefix: Restoration.draftPrefix,
        lock: "restoring.lock",
        copies: [],
        isRoot: false
    )
    static let kinds = [rehearsals, selfComparisons, retirements, restorations]

    /// The suffix of the name in this version; earlier ones used random ones.
    static let name = Restoration.draftName

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

    /// Removes the folders of a kind, and the copies that an engine keeps elsewhere. The caller holds the lock of the kind.
    static func remove(_ kind: Kind, in directory: UserDirectory, _ engines: Engines) throws {
        for folder in try folders(kind, in: directory) {
            // The folder goes last: as long as it exists, the copies can be found.
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
                    "copies of the stores that are no longer needed cannot be removed",
                    at: .init(path: folder),
                    underlying: error
                )
            }
        }
    }

    /// Removes copies that no process is using.
    ///
    /// - Parameter onlyKnown: whether to check only the names of this version, which avoids reading the folder.
    /// - Returns: whether there were any.
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
                // Another process is making them now.
                continue
            }
        }
        return isFound
    }
}

/// Temporary copies of the store that a user left and the serving one, to be compared.
struct RetiredCopies {
    private let directory: UserDirectory
    private let engines: Engines
    private let folder: String

    /// Replaces copies that a killed process left. The caller holds the lock of the user's retirement.
    init(_ directory: UserDirectory, _ engines: Engines) throws {
        (self.directory, self.engines) = (directory, engines)
        try TemporaryCopies.remove(TemporaryCopies.retirements, in: directory, engines)
        folder = try TemporaryCopies.retirements.makeFolder(in: directory)
    }

    /// Copies a store, and opens the copy.
    ///
    /// - Parameter name: one of the names of such copies.
    func add(
        _ store: any UserStoreBackend,
        of engine: EngineName,
        as name: String,
        _ schema: Schema
    ) throws -> any UserStoreBackend {
        let copies = try engines.copied(as: name, by: directory)
        let address = copies.address(engine, ofUser: directory.user, inFolder: folder)
        // An engine may keep the copy outside the folder, which the cleanup removed with its contents.
        try engines.discard(address)
        try store.backup(to: address.path)
        return try engines.open(address, .readWrite, schema: schema)
    }

    /// Removes the copies. The next retirement removes what cannot be removed now.
    func remove() { try? TemporaryCopies.remove(TemporaryCopies.retirements, in: directory, engines) }
}
