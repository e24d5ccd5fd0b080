import DurableFiles
import Foundation

/// An engine whose stores are files: one in a user's folder, named after the engine, and perhaps others next to it.
@_spi(Engines) public protocol FileEngineProvider: EngineProvider {
    /// The suffixes of files that belong to a store's file, such as `-wal`; without the file itself.
    var sidecars: [String] { get }

    /// Those of the sidecars that hold records, or what opening a copy needs.
    var copiedSidecars: [String] { get }

    /// Throws if a store's file is not only a store, and must not be moved or removed.
    ///
    /// - Parameter what: what is about to happen: `set aside`, `removed`.
    func requireMovable(_ place: String, _ what: String) throws
}

@_spi(Engines) extension FileEngineProvider {
    /// `store.NAME` in the user's folder.
    public func place(ofUser user: String, inFolder folder: String) -> String { "\(folder)/store.\(name.rawValue)" }

    /// Does nothing.
    public func requireMovable(_ place: String, _ what: String) throws {}

    /// The file's device and inode.
    public func identity(at place: String) -> StoreIdentity? { StoreIdentity(path: place) }

    /// Whether the system would let this process write to the file and what belongs to it.
    public func mayWrite(_ place: String) -> Bool {
        // Opening a file to find out would give up the process's locks on it.
        ([""] + sidecars).allSatisfy { access(place + $0, W_OK) == 0 || errno == ENOENT }
    }

    /// Renames the file and what belongs to it.
    public func setAside(_ place: String, as suffix: String) throws -> String {
        try requireMovable(place, "set aside")
        var aside = "\(place)-\(suffix)"
        while FileManager.default.fileExists(atPath: aside) { aside += "-" }
        try each(place, sidecars, "the store cannot be set aside as \(aside)") { file, ending in
            try FileManager.default.moveItem(atPath: file, toPath: aside + ending)
        }
        return aside
    }

    /// Copies the file and what belongs to it, for this user of the machine only.
    public func copy(_ place: String, to target: String) throws {
        try each(place, copiedSidecars, "the store cannot be copied to \(target)") { file, ending in
            try FileCopy.copy(file, to: target + ending)
        }
    }

    /// Removes the file, and then what belongs to it.
    public func remove(_ place: String) throws {
        try requireMovable(place, "removed")
        try each(place, sidecars, "the store cannot be removed") { file, _ in
            try FileManager.default.removeItem(atPath: file)
        }
    }

    /// The store's own file first: without it the others mean nothing.
    private func each(
        _ place: String,
        _ endings: [String],
        _ failure: String,
        _ body: (_ file: String, _ ending: String) throws -> Void
    ) throws {
        do {
            for ending in [""] + endings where ending.isEmpty || FileManager.default.fileExists(atPath: place + ending)
            {
                try body(place + ending, ending)
            }
        } catch {
            throw HabitStoreError(.inputOutput, failure, at: .init(path: place), underlying: error)
        }
    }
}

/// Links to files that are not there, as when a disk is not mounted.
package enum DanglingLink {
    /// The path that a dangling link names; nil for anything else.
    package static func target(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) != 0, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
            return nil
        }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? "an unreadable path"
    }
}

/// Folders of a person's records: for their owner only.
package enum PrivateFolder {
    /// Makes a folder.
    ///
    /// - Parameters:
    ///   - path: where.
    ///   - isNew: whether there must be none yet, and the folder above it must be there. Else all that are missing are made.
    ///   - code: what it is when the folder cannot be made.
    ///   - message: says so, and what to do.
    /// - Throws: a ``HabitStoreError`` with that code and message, and the system's error below it.
    package static func make(
        _ path: String,
        isNew: Bool = false,
        or code: HabitStoreError.Code,
        _ message: String
    ) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: !isNew,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw HabitStoreError(code, message, at: .init(path: path), underlying: error)
        }
    }

    /// Opens a folder that belongs to this user alone: not a link, and not writable by others.
    ///
    /// Anyone who can write to a folder can replace a file in it by a link, and have records written elsewhere.
    ///
    /// - Parameters:
    ///   - path: the folder's path in errors.
    ///   - parent: the folder that contains `name`; without it, `path` is used.
    /// - Returns: its descriptor, which the caller closes.
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if it is a link or not a folder, belongs to another user, or is writable
    ///   by others; ``HabitStoreError/Code/inputOutput`` if it cannot be opened.
    package static func open(_ path: String, in parent: (descriptor: Int32, name: String)? = nil) throws -> Int32 {
        let descriptor: Int32
        do {
            descriptor = try OpenFile.openFolder(path, in: parent, mayBeLink: false)
        } catch {
            guard error.number != ELOOP, error.number != ENOTDIR else {
                throw refusal(path, "a link or a file is where the users' folders are expected; remove it")
            }
            throw HabitStoreError(
                error.number == EACCES ? .permissionDenied : .inputOutput,
                "the folder \(error)",
                at: .init(path: path)
            )
        }
        do {
            try requireOwn(descriptor, path)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func requireOwn(_ descriptor: Int32, _ path: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw refusal(path, "the folder's owner cannot be found out") }
        guard status.st_uid == geteuid() else {
            throw refusal(
                path,
                "the folder belongs to another account; run as that account, or give the folder to this one"
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw refusal(path, "other accounts may write to this folder; take that from them (chmod go-w)")
        }
    }

    private static func refusal(_ path: String, _ message: String) -> HabitStoreError {
        HabitStoreError(.permissionDenied, message, at: .init(path: path))
    }
}

/// A folder for copies of a person's records that are gone when the work on them is done: for its owner only.
package enum ScratchFolder {
    /// Runs `body` with the path of a new folder, and removes the folder afterwards.
    ///
    /// - Parameters:
    ///   - directory: where to create the folder.
    ///   - purpose: the beginning of its name.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be created.
    package static func with<R>(in directory: String, for purpose: String, _ body: (String) throws -> R) throws -> R {
        let folder = "\(directory)/\(purpose)-\(UUID().uuidString)"
        try PrivateFolder.make(
            folder,
            isNew: true,
            or: .inputOutput,
            "no folder for the copy can be made here; name another one"
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}
