import DurableFiles
import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Operations on a store's files that bypass SQLite.
///
/// None of them opens a database file that SQLite could have open: closing any descriptor of it would drop SQLite's locks on it for
/// the whole process (https://www.sqlite.org/howtocorrupt.html, 2.2).
enum SQLiteFiles {
    /// SQLite's paths have at most 512 bytes, of which it needs 8 for the names of the files next to the database.
    static let longestPathBytes = 504

    /// The status of the file at a path; nil if there is none.
    static func status(of path: String) throws -> SQLiteFileStatus? {
        var info = stat()
        guard stat(path, &info) == 0 else {
            let reason = errno
            if reason == ENOENT || reason == ENOTDIR { return nil }
            throw SQLiteError.system(reason, path: path, while: "looking at the path")
        }
        let kind: SQLiteFileStatus.Kind
        switch info.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        default: kind = .other
        }
        #if canImport(Darwin)
        let modified = info.st_mtimespec
        #else
        let modified = info.st_mtim
        #endif
        return SQLiteFileStatus(
            identity: .init(device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino)),
            kind: kind,
            sizeBytes: Int64(info.st_size),
            nameCount: UInt64(info.st_nlink),
            modifiedNanoseconds: Int64(modified.tv_sec) &* 1_000_000_000 &+ Int64(modified.tv_nsec)
        )
    }

    /// The size of the file; 0 if it is missing.
    static func sizeBytes(of path: String) throws -> Int64 { try status(of: path)?.sizeBytes ?? 0 }

    /// Whether this process may write the file and create others next to it.
    static func isWritable(_ path: String) -> Bool {
        access(path, W_OK) == 0 && access(DurableFile.folder(of: path), W_OK) == 0
    }

    /// The canonical path of a file, with symbolic links resolved. The file itself may be missing; its folder must exist.
    static func canonicalPath(_ path: String) throws -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw HabitStoreError(.notFound, "the path is empty or holds a NUL; name a file")
        }
        if let resolved = try resolve(path) { return try checkedLength(resolved) }
        let url = URL(fileURLWithPath: path)
        guard let folder = try resolve(url.deletingLastPathComponent().path) else {
            throw HabitStoreError(
                .notFound,
                "the folder of the store does not exist; create it first",
                at: HabitStoreError.Location(path: path)
            )
        }
        return try checkedLength(folder == "/" ? "/" + url.lastPathComponent : folder + "/" + url.lastPathComponent)
    }

    /// Creates an empty file that only its owner may read; the log and its index inherit the mode.
    static func create(_ path: String) throws {
        do {
            // The file is new, so closing it cannot drop a lock of a connection.
            _ = try OpenFile(newAt: path)
            try DurableFile.synchronizeFolder(of: path)
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "creating the file")
        }
    }

    /// Waits until the contents of a file are on the disk. No connection may have it open.
    static func synchronize(_ path: String) throws {
        do {
            try DurableFile.synchronize(path)
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "syncing the file")
        }
    }

    /// Renames a file within its folder, durably. No connection may have it open.
    static func move(_ source: String, to path: String) throws {
        do {
            try DurableFile.move(source, to: path)
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "renaming the file")
        }
    }

    private static func resolve(_ path: String) throws -> String? {
        guard let resolved = realpath(path, nil) else {
            let reason = errno
            if reason == ENOENT || reason == ENOTDIR { return nil }
            throw SQLiteError.system(reason, path: path, while: "looking at the path")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func checkedLength(_ path: String) throws -> String {
        guard path.utf8.count <= longestPathBytes else {
            throw HabitStoreError(
                .limitExceeded,
                "the path has \(path.utf8.count) bytes and SQLite takes at most \(longestPathBytes); use a shorter one",
                at: HabitStoreError.Location(path: path)
            )
        }
        return path
    }
}
