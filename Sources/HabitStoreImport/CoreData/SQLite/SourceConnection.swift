internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A connection to the private copy of another app's database. Used by one thread at a time.
final class SourceConnection {
    /// The path that errors speak of: that of the original.
    let path: String
    fileprivate(set) var pointer: OpaquePointer?

    /// Opens a copy; what its log or journal holds is read too, unless the main file alone is asked for.
    init(copy: String, of path: String, isMainFileAlone: Bool = false) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = isMainFileAlone ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        // The copy's name is the program's own, and has nothing in it that a URI would take for something else.
        let name = isMainFileAlone ? "file:\(copy)?immutable=1" : copy
        let result = sqlite3_open_v2(name, &pointer, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "opening the database")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        // The database is a stranger's: nothing in its schema may call functions that touch files or run code.
        var state: Int32 = 0
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_DEFENSIVE, 1, &state)
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &state)
        // The copy of the main file has to stay what it is, so that it can still be read without the log.
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &state)
        try exec("PRAGMA trusted_schema = OFF")
        try exec("PRAGMA cell_size_check = ON")
        try exec("PRAGMA query_only = ON")
    }

    deinit { close() }

    /// Ends the connection.
    func close() {
        sqlite3_close_v2(pointer)
        pointer = nil
    }

    /// Compiles one statement.
    func prepare(_ sql: String) throws -> SourceStatement { try SourceStatement(sql, self) }

    /// The rows' first columns as texts.
    func texts(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var result: [String] = []
        while try statement.step() { result.append(statement.text(0) ?? "") }
        return result
    }

    /// The first column of the first row as a number.
    func int(_ sql: String) throws -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.optionalInt(0) : nil
    }

    private func exec(_ sql: String) throws {
        let result = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result, "opening the database") }
    }

    /// The error of a result of this connection.
    func error(_ code: Int32, _ action: String) -> HabitStoreError { Self.error(code, pointer, path, action) }

    /// A name as SQL writes it.
    static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    private static func error(
        _ code: Int32,
        _ database: OpaquePointer?,
        _ path: String,
        _ action: String
    ) -> HabitStoreError {
        let meaning: (HabitStoreError.Code, String)
        switch code & 0xff {
        case SQLITE_NOTADB: meaning = (.notAStore, "the file is no SQLite database, or an encrypted one")
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
