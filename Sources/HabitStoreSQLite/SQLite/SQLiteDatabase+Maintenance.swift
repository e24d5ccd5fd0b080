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
    /// The problems that SQLite finds in its file, at most 100 lines; empty if there are none.
    ///
    /// - Parameter quick: whether to skip comparing indexes with tables, which is most of the work.
    func integrityCheck(quick: Bool) throws -> [String] {
        try withRead { connection in
            let lines = try connection.texts(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
            // The whole file has passed through this connection's page cache, which is useless there.
            try connection.exec("PRAGMA shrink_memory")
            return lines == ["ok"] ? [] : lines
        }
    }

    /// Copies the log into the database and empties it; false if readers are in the way.
    func checkpoint() throws -> Bool { try using { try $0.checkpoint() } }

    /// Why the last checkpoint after a commit failed; nil if it succeeded. A failure loses nothing, but the log grows.
    var lastCheckpointFailure: HabitStoreError? {
        get throws { try using { $0.lastCheckpointFailure } }
    }

    /// The sizes of the files in the file system.
    var fileSizes: SQLiteFileSizes {
        get throws {
            SQLiteFileSizes(
                mainBytes: try SQLiteFiles.sizeBytes(of: path),
                logBytes: try SQLiteFiles.sizeBytes(of: path + "-wal"),
                sharedMemoryBytes: try SQLiteFiles.sizeBytes(of: path + "-shm")
            )
        }
    }

    /// The number of pages that the log file has room for. After a restart of the log, some of them are old.
    var walPages: Int {
        get throws {
            let bytes = try fileSizes.logBytes
            let pageSize = try withRead { try $0.int64("PRAGMA page_size") ?? 4_096 }
            // A header of 32 bytes, then 24 bytes before each page (https://www.sqlite.org/fileformat.html, 4).
            return Int(max(0, bytes - 32) / (pageSize + 24))
        }
    }

    /// Writes a consistent, compact copy as a single file that only its owner may read. Never replaces an existing file.
    ///
    /// The copy is written under another name and renamed when it is on the disk, so a file with the requested name is complete or,
    /// after a crash, empty.
    func backup(to target: String) throws {
        let target = try SQLiteFiles.canonicalPath(target)
        guard try SQLiteFiles.status(of: target) == nil else {
            throw HabitStoreError(
                .unsupported,
                "there is a file at the backup's path already, and it is not overwritten; choose another path",
                at: HabitStoreError.Location(path: target)
            )
        }
        // Reserves the name, so that of two backups to one path, one fails immediately.
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
            // This call created all three, and they are useless now. A missing file is as good as a removed one.
            for path in [partial, partial + "-journal", target] { unlink(path) }
            throw error
        }
    }
}
