import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension SQLiteDatabase {
    /// What SQLite finds wrong in its own file, at most 100 lines; empty for a sound one.
    ///
    /// - Parameter quick: leaves the comparison of indexes with tables out, which is most of the work.
    func integrityCheck(quick: Bool) throws -> [String] {
        try withRead { connection in
            let lines = try connection.texts(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
            // The whole file has gone through this connection's page cache, and is of no use there.
            try connection.exec("PRAGMA shrink_memory")
            return lines == ["ok"] ? [] : lines
        }
    }

    /// Copies the log into the database and empties it; false when readers of it are in the way.
    func checkpoint() throws -> Bool { try using { try $0.checkpoint() } }

    /// Why the last checkpoint after a commit failed; nil when it did not. Nothing is lost by that, but the log grows.
    var lastCheckpointFailure: HabitStoreError? {
        get throws { try using { $0.lastCheckpointFailure } }
    }

    /// The sizes of the files, as the file system has them.
    var fileSizes: SQLiteFileSizes {
        get throws {
            SQLiteFileSizes(
                mainBytes: try SQLiteFiles.sizeBytes(of: path),
                logBytes: try SQLiteFiles.sizeBytes(of: path + "-wal"),
                sharedMemoryBytes: try SQLiteFiles.sizeBytes(of: path + "-shm")
            )
        }
    }

    /// The pages that the log's file has room for. After a restart of the log, some of them are left over from before.
    var walPages: Int {
        get throws {
            let bytes = try fileSizes.logBytes
            let pageSize = try withRead { try $0.int64("PRAGMA page_size") ?? 4_096 }
            // A header of 32 bytes, then a header of 24 before each page (https://www.sqlite.org/fileformat.html, 4).
            return Int(max(0, bytes - 32) / (pageSize + 24))
        }
    }

    /// Writes one consistent, compact copy, in one file that only its owner may read. An existing file is never
    /// replaced.
    ///
    /// The copy is written under another name and renamed when it is on the disk: a file of the asked-for name is
    /// whole, or, after a crash, empty.
    func backup(to target: String) throws {
        let target = try SQLiteFiles.canonicalPath(target)
        guard try SQLiteFiles.status(of: target) == nil else {
            throw HabitStoreError(
                .unsupported,
                "there is a file at the backup's path already, and it is not overwritten; choose another path",
                at: HabitStoreError.Location(path: target)
            )
        }
        // Holds the name, so that of two backups to one path one fails at once.
        try SQLiteFiles.create(target)
        let partial = target + ".partial-\(UUID().uuidString.lowercased())"
        do {
            try SQLiteFiles.create(partial)
            try using { file in
                try file.withReader { connection in
                    try connection.withStatement("VACUUM INTO ?1") { statement in
                        try statement.bind(partial, at: 1)
                        try statement.run()
                    }
                }
            }
            try SQLiteFiles.synchronize(partial)
            try SQLiteFiles.move(partial, to: target)
        } catch {
            // All three are this call's own, and of no use to anyone. A name that is not there is as good as one
            // removed.
            for path in [partial, partial + "-journal", target] { unlink(path) }
            throw error
        }
    }
}
