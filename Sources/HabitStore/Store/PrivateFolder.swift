import DurableFiles
import Foundation

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
