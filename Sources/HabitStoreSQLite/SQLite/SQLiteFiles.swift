import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

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

extension SQLiteFiles {
    /// Makes sure that SQLite can safely open the file, and returns its path and status.
    ///
    /// SQLite treats an empty file as a new database, and deletes a log next to an empty or missing file. Both would silently turn
    /// a lost file into lost records, so they are rejected here.
    static func prepare(
        _ path: String,
        mode: SQLiteOpenMode
    ) throws -> (path: String, status: SQLiteFileStatus) {
        let canonical = try canonicalPath(path)
        try requirePlainFiles(nextTo: canonical)
        if let status = try status(of: canonical) {
            return (canonical, try checked(status, path: canonical, mode: mode))
        }
        let orphan = try orphanedLog(of: canonical)
        guard mode == .create else {
            throw HabitStoreError(
                .notFound,
                "there is no file at this path" + (orphan == nil ? "" : ", but its log is there; restore the file"),
                at: HabitStoreError.Location(path: canonical)
            )
        }
        if let orphan { throw orphanError(orphan) }
        do {
            try create(canonical)
        } catch let error as HabitStoreError {
            // If another thread or process has created it meanwhile, that is just as good.
            guard try self.status(of: canonical) != nil else {
                guard (error.underlying as? POSIXError)?.code == .EEXIST else { throw error }
                throw HabitStoreError(
                    .notFound,
                    "the file cannot be made; is it a link to a file that is missing?",
                    at: HabitStoreError.Location(path: canonical)
                )
            }
        }
        guard let status = try status(of: canonical) else {
            throw HabitStoreError(
                .notFound,
                "the file vanished while it was created; check what else uses the folder",
                at: HabitStoreError.Location(path: canonical)
            )
        }
        return (canonical, try checked(status, path: canonical, mode: mode))
    }

    /// The files that SQLite and ``SQLiteProcessLock`` keep next to a database.
    private static let suffixes = ["-wal", "-shm", "-journal", "-lock"]

    /// SQLite opens none of these files through a link, reports no name if one is a folder, and waits forever for a named pipe.
    private static func requirePlainFiles(nextTo path: String) throws {
        let length = path.utf8.count
        var name = Array(path.utf8CString) + [CChar](repeating: 0, count: 8)
        for suffix in suffixes {
            name.replaceSubrange(length..<(length + suffix.utf8.count + 1), with: suffix.utf8CString)
            var info = stat()
            guard lstat(name, &info) == 0, info.st_mode & S_IFMT != S_IFREG else { continue }
            let problem = "not a regular file, so SQLite cannot use the store next to it"
            throw FileInTheWay(path: path + suffix, problem: problem).error
        }
    }

    private static func checked(
        _ status: SQLiteFileStatus,
        path: String,
        mode: SQLiteOpenMode
    ) throws -> SQLiteFileStatus {
        let location = HabitStoreError.Location(path: path)
        switch status.kind {
        case .regular: break
        case .directory: throw HabitStoreError(.notAStore, "the path is a folder; name the file", at: location)
        case .other: throw HabitStoreError(.notAStore, "the path is not a plain file; name a file", at: location)
        }
        guard status.sizeBytes == 0 else { return status }
        if let orphan = try orphanedLog(of: path) {
            // The log is examined after the file: another process may have filled both in between.
            if let now = try self.status(of: path), now.sizeBytes > 0 { return now }
            throw orphanError(orphan)
        }
        guard mode == .create else {
            throw HabitStoreError(.notAStore, "the file is empty; it was never a store", at: location)
        }
        return status
    }

    private static func orphanedLog(of path: String) throws -> String? {
        let log = path + "-wal"
        return try sizeBytes(of: log) > 0 ? log : nil
    }

    private static func orphanError(_ log: String) -> HabitStoreError {
        HabitStoreError.damage(
            "this log holds records whose database file is empty or missing; restore that file, or move the log away",
            at: HabitStoreError.Location(path: log)
        )
    }
}

/// The file system's information about a path, read without opening the file.
struct SQLiteFileStatus: Sendable, Equatable {
    /// Identifies a file independently of its names.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// The kinds of files that this code distinguishes.
    enum Kind: Sendable {
        case regular
        case directory
        case other
    }

    let identity: Identity
    let kind: Kind
    let sizeBytes: Int64
    /// The number of names (hard links) of the file.
    let nameCount: UInt64
    /// The time of the last change of the contents, in nanoseconds since 1970.
    let modifiedNanoseconds: Int64
}

/// The sizes of a store's files in bytes; 0 for a missing file.
struct SQLiteFileSizes: Sendable, Equatable {
    /// The database file.
    let mainBytes: Int64
    /// The write-ahead log.
    let logBytes: Int64
    /// The index of the log, which SQLite rebuilds when needed.
    let sharedMemoryBytes: Int64
}
