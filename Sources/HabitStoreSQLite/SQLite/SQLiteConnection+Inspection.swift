internal import CSQLite
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteConnection {
    /// Reads the file for the first time, to see if it is a complete database, and then passes it to `validate`.
    ///
    /// Nothing has been changed at that point, so the file of another program is rejected unmodified.
    ///
    /// - Returns: the header.
    @discardableResult
    func inspect(_ validate: ((SQLiteConnection) throws -> Void)?) throws -> SQLiteHeader {
        try explainingTruncation { try beginRead() }
        let found: SQLiteHeader
        do {
            // The first statement of a connection that needs the file's schema reads all of it; `validate` runs one itself.
            if validate == nil { _ = try explainingTruncation { try int64("SELECT 1 FROM sqlite_schema LIMIT 1") } }
            // Inside the snapshot: while it is open and there is no log, no checkpoint can change the file.
            let hasLog = try hasLog
            found = try header(hasLog: hasLog)
            if !hasLog, let error = try truncationError(found) { throw error }
            inspectedHeader = found
            defer { inspectedHeader = nil }
            if let validate, found.pageCount > 0 { try validate(self) }
        } catch {
            rollback()
            throw error
        }
        try commit()
        return found
    }

    /// Runs what may be the first read of the file. If that fails because part of the file is missing, the error says so.
    func explainingTruncation<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as HabitStoreError where error.code == .corrupt || error.code == .notAStore {
            guard try !hasLog, let header = storedHeader() else { throw error }
            throw try truncationError(header, cause: error) ?? error
        }
    }

    /// The file's header in the current snapshot.
    ///
    /// With a log, the header in the file may be outdated. SQLite is asked instead, at the cost of a statement for each number.
    func header() throws -> SQLiteHeader { try inspectedHeader ?? header(hasLog: hasLog) }

    private func header(hasLog: Bool) throws -> SQLiteHeader {
        if !hasLog, let header = storedHeader(), header.isPageCountKept { return header }
        return SQLiteHeader(
            pageSizeBytes: try int64("PRAGMA page_size") ?? 0,
            pageCount: try int64("PRAGMA page_count") ?? 0,
            userVersion: try int64("PRAGMA user_version") ?? 0,
            isInUTF8: try texts("PRAGMA encoding") == ["UTF-8"],
            applicationID: try int64("PRAGMA application_id") ?? 0,
            isInLogMode: try texts("PRAGMA journal_mode") == ["wal"]
        )
    }

    private var hasLog: Bool { get throws { try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 } }

    /// The error for a file that is shorter than its own header says; nil if it is not, or if that is unknown.
    ///
    /// SQLite makes this comparison too, but in whole pages, and reports "malformed". With a log nothing can be concluded.
    private func truncationError(_ header: SQLiteHeader, cause: HabitStoreError? = nil) throws -> HabitStoreError? {
        let expected = max(header.pageCount, cause == nil ? 0 : 1) * header.pageSizeBytes
        let actual = try SQLiteFiles.sizeBytes(of: path)
        guard actual < expected else { return nil }
        return HabitStoreError.damage(
            "the file is truncated: it has \(actual) bytes and its header speaks of \(expected); restore a backup",
            at: HabitStoreError.Location(path: path),
            underlying: cause?.underlying
        )
    }

    /// The header in the file. A short read fills the rest with zeros, so a file that is shorter than a header gets a zero page
    /// count.
    private func storedHeader() -> SQLiteHeader? {
        fileBytes(SQLiteHeader.length, at: 0, mayBeShort: true).flatMap(SQLiteHeader.init)
    }

    /// Bytes of the file, read through SQLite's own descriptor: closing another one would drop SQLite's locks. Nil if the file has
    /// fewer bytes or cannot be read.
    func fileBytes(_ count: Int, at position: Int64, mayBeShort: Bool = false) -> [UInt8]? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let read = file.pointee.pMethods?.pointee.xRead
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), position) }
        return result == SQLITE_OK || mayBeShort && result == SQLITE_IOERR | 2 << 8 ? bytes : nil
    }

    /// Whether the path now leads to another file, or to none.
    var hasMoved: Bool {
        var answer: Int32 = 0
        let result = sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        return result == SQLITE_OK && answer != 0
    }
}
