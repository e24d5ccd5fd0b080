import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
            let place = path + suffix
            throw HabitStoreError(
                .inputOutput,
                "not a regular file, so SQLite cannot use the store next to it; move it away: "
                    + "`mv \(ShellWord.quoted(place)) \(ShellWord.quoted(place + ".aside"))`",
                at: HabitStoreError.Location(path: place)
            )
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
