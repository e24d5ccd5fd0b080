internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A connection to the private copy of another app's database. Use it from one thread at a time.
package final class SourceConnection {
    /// The path that errors name: that of the original.
    let path: String
    fileprivate(set) var pointer: OpaquePointer?
    private var known: SourceCatalog?

    /// Opens a copy with its log or journal, or its main file alone.
    ///
    /// - Parameter largestValueBytes: the maximum size of a row or value. Stored values are never larger than the file; larger ones come
    ///   from expressions in the schema.
    init(copy: String, of path: String, isMainFileAlone: Bool = false, largestValueBytes: Int) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = isMainFileAlone ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        // This program chose the copy's name, so it needs no escaping in a URI.
        let name = isMainFileAlone ? "file:\(copy)?immutable=1" : copy
        let result = sqlite3_open_v2(name, &pointer, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "opening the database")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        // The database is untrusted: its schema must not call functions that access files or run code.
        var state: Int32 = 0
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_DEFENSIVE, 1, &state)
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &state)
        // A view named like a table might never end.
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &state)
        limit(pointer, largestValueBytes)
        // The copy of the main file must not change, so that it can still be read without the log.
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &state)
        try exec("PRAGMA trusted_schema = OFF")
        try exec("PRAGMA cell_size_check = ON")
        try exec("PRAGMA query_only = ON")
    }

    /// Opens an empty database for data that may exceed memory: private, unnamed, and removed with the connection or the process.
    ///
    /// - Parameter path: the path that errors name.
    init(scratchFor path: String) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
        let result = sqlite3_open_v2("", &pointer, access, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "making room for what is compared")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        try exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -\(Self.scratchCacheKiB)")
    }

    private static let scratchCacheKiB = 8_192

    /// Limits what the file's schema, and statements built from its names, can consume. Tables may be as wide as SQLite allows at most.
    private func limit(_ pointer: OpaquePointer, _ largestValueBytes: Int) {
        for (limit, most) in [
            // The witness converts bytes to hexadecimal.
            (SQLITE_LIMIT_LENGTH, Int32(clamping: 2 * max(largestValueBytes, Self.leastLength))),
            (SQLITE_LIMIT_SQL_LENGTH, 1_000_000), (SQLITE_LIMIT_COLUMN, 2_000), (SQLITE_LIMIT_EXPR_DEPTH, 500),
            (SQLITE_LIMIT_COMPOUND_SELECT, 100), (SQLITE_LIMIT_VDBE_OP, 1_000_000),
            (SQLITE_LIMIT_FUNCTION_ARG, Int32(Self.mostArguments)),
            (SQLITE_LIMIT_ATTACHED, 0), (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
            (SQLITE_LIMIT_VARIABLE_NUMBER, 100), (SQLITE_LIMIT_TRIGGER_DEPTH, 1), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            sqlite3_limit(pointer, limit, most)
        }
    }

    /// A minimum, because small files have expressions too, and SQLite builds result rows within the same limit.
    private static let leastLength = 1 << 20

    deinit { close() }

    /// Closes the connection.
    func close() {
        sqlite3_close_v2(pointer)
        pointer = nil
    }

    package func prepare(_ sql: String) throws -> SourceStatement { try SourceStatement(sql, self) }

    /// The first column of each row, as text.
    package func texts(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var result: [String] = []
        while try statement.step() { result.append(statement.text(0) ?? "") }
        return result
    }

    /// The first column of the first row, as a number.
    package func int(_ sql: String) throws -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.optionalInt(0) : nil
    }

    /// The tables, divided into readable and unreadable ones.
    package func catalog() throws -> SourceCatalog {
        if let known { return known }
        let catalog = try SourceCatalog(self)
        known = catalog
        return catalog
    }

    /// Whether the last call failed because it needs something of the app's: a module, a tokenizer or a function. The module of a virtual
    /// table may also report its table as damaged.
    func needsApp(isVirtual: Bool = false) -> Bool {
        let code = sqlite3_errcode(pointer) & 0xff
        return code == SQLITE_ERROR || (isVirtual && code == SQLITE_CORRUPT)
    }

    /// Replaces unknown collations of the app by a comparison of bytes. No statement here depends on the order of texts, but indexes can no
    /// longer be checked.
    func standInForCollations() {
        sqlite3_collation_needed(pointer, nil) { _, database, encoding, name in
            _ = sqlite3_create_collation(database, name, encoding, nil) { _, leftCount, left, rightCount, right in
                let texts = (
                    UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
                    UnsafeRawBufferPointer(start: right, count: Int(rightCount))
                )
                if texts.0.elementsEqual(texts.1) { return 0 }
                return texts.0.lexicographicallyPrecedes(texts.1) ? -1 : 1
            }
        }
    }

    /// Runs statements without results.
    func exec(_ sql: String) throws {
        let result = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result, "opening the database") }
    }

    func error(_ code: Int32, _ action: String) -> HabitStoreError { Self.error(code, pointer, path, action) }

    /// A name quoted for SQL.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// The condition that at least one expression is not null. The depth of an `OR` chain grows with its length, and SQLite limits the
    /// depth of expressions.
    static func isAnyFilled(_ expressions: [String]) -> String {
        var parts = expressions
        while parts.count > 1 {
            parts = stride(from: 0, to: parts.count, by: mostArguments).map { start in
                let group = parts[start..<min(start + mostArguments, parts.count)]
                return group.count == 1 ? group[start] : "coalesce(\(group.joined(separator: ", ")))"
            }
        }
        return "(\(parts.first ?? "NULL") NOT NULL)"
    }

    private static let mostArguments = 100

    private static func error(
        _ code: Int32,
        _ database: OpaquePointer?,
        _ path: String,
        _ action: String
    ) -> HabitStoreError {
        let meaning: (HabitStoreError.Code, String)
        switch code & 0xff {
        case SQLITE_NOTADB: meaning = (.notAStore, "the file is not a SQLite database, or it is encrypted")
        case SQLITE_CORRUPT: meaning = (.corrupt, "\(action) failed: the database is damaged")
        case SQLITE_FULL: meaning = (.full, "\(action) failed: no space is left for the private copy")
        case SQLITE_IOERR: meaning = (.inputOutput, "\(action) failed: the copy cannot be read")
        case SQLITE_NOMEM, SQLITE_TOOBIG: meaning = (.limitExceeded, "\(action) failed: a row is too large")
        default: meaning = (.corrupt, "\(action) failed (SQLite code \(code))")
        }
        return HabitStoreError(
            meaning.0,
            meaning.1,
            at: .init(path: path),
            detail: database.map { String(cString: sqlite3_errmsg($0)) }
        )
    }
}
