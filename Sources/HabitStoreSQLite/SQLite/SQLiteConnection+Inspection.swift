internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteConnection {
    /// Reads the file for the first time: is it a database, and all of it there? Then lets `validate` look at the
    /// contents.
    ///
    /// Nothing has been changed by then, so a file of someone else is refused as it was found.
    func inspect(_ validate: ((SQLiteConnection) throws -> Void)?) throws {
        try explainingTruncation { try beginRead() }
        do {
            // Inside the snapshot: as long as it stands without a log, no checkpoint can change the file.
            if let error = try truncationError(cause: nil) { throw error }
            if let validate, try int64("PRAGMA page_count") ?? 0 > 0 { try validate(self) }
        } catch {
            rollback()
            throw error
        }
        try commit()
    }

    /// Runs what may be the first read of the file, and says so if what is wrong with it is that a part is missing.
    func explainingTruncation(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as HabitStoreError where error.code == .corrupt || error.code == .notAStore {
            throw try truncationError(cause: error) ?? error
        }
    }

    /// The error to throw if the file is shorter than its own header says; nil if it is not, or if that cannot be told.
    ///
    /// SQLite compares the two itself, but in whole pages, and calls the difference "malformed". With a log the header
    /// in the file is not the last word, and nothing is concluded from it.
    private func truncationError(cause: HabitStoreError?) throws -> HabitStoreError? {
        guard try SQLiteFiles.sizeBytes(of: path + "-wal") == 0 else { return nil }
        guard let header = storedHeader() else { return nil }
        let expected: Int64
        if cause == nil {
            expected = (try int64("PRAGMA page_count") ?? 0) * (try int64("PRAGMA page_size") ?? 0)
        } else {
            expected = max(header.pageCount, 1) * header.pageSizeBytes
        }
        let actual = try SQLiteFiles.sizeBytes(of: path)
        guard actual < expected else { return nil }
        return HabitStoreError(
            .corrupt,
            "the file is truncated: it has \(actual) bytes and its header speaks of \(expected); restore a backup",
            at: HabitStoreError.Location(path: path),
            underlying: cause?.underlying
        )
    }

    /// The page count and size in the header (https://www.sqlite.org/fileformat.html, 1.3), read through SQLite's own
    /// descriptor: one of our own would drop its locks when closed.
    private func storedHeader() -> (pageCount: Int64, pageSizeBytes: Int64)? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let read = file.pointee.pMethods?.pointee.xRead
        else { return nil }
        var header = [UInt8](repeating: 0, count: 100)
        let result = header.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), 0) }
        // A short read fills the rest with zeros, which is what a file of less than a header deserves.
        guard result == SQLITE_OK || result == SQLITE_IOERR | 2 << 8 else { return nil }
        guard header.starts(with: Array("SQLite format 3".utf8) + [0]) else { return nil }
        let pageSize = Int64(header[16]) << 8 | Int64(header[17])
        let pageCount = header[28..<32].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return (pageCount, pageSize == 1 ? 65_536 : pageSize)
    }

    /// Whether the path now leads to another file, or to none.
    var hasMoved: Bool {
        var answer: Int32 = 0
        let result = sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        return result == SQLITE_OK && answer != 0
    }
}
