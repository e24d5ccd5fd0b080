import CSQLite
import Foundation
import HabitStore

@testable import HabitStoreSQLite

/// A connection by SQLite's own C functions, as in the stock shell.
final class SQLiteShell {
    private let handle: OpaquePointer
    private let path: String

    init(_ path: String) throws {
        var opened: OpaquePointer?
        let result = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
        guard result == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw HabitStoreError(.inputOutput, "SQLite cannot open the file (\(result))", at: .init(path: path))
        }
        handle = opened
        self.path = path
    }

    deinit { sqlite3_close(handle) }

    /// Runs a statement with parameters.
    ///
    /// - Returns: the first column of each row, as text.
    @discardableResult
    func run(_ sql: String, _ parameters: [Value] = []) throws -> [String] {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK else { throw failure(sql) }
        defer { sqlite3_finalize(prepared) }
        for (number, value) in zip(Int32(1)..., parameters) {
            guard bind(prepared, number, value) == SQLITE_OK else { throw failure(sql) }
        }
        var rows: [String] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append(sqlite3_column_text(prepared, 0).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return rows
            default: throw failure(sql)
            }
        }
    }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }

    private func bind(_ statement: OpaquePointer?, _ number: Int32, _ value: Value) -> Int32 {
        // SQLite copies the bytes that it is given.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return sqlite3_bind_null(statement, number)
        case .bool(let flag): return sqlite3_bind_int64(statement, number, flag ? 1 : 0)
        case .int(let integer): return sqlite3_bind_int64(statement, number, integer)
        case .double(let double): return sqlite3_bind_double(statement, number, double)
        case .date(let date): return sqlite3_bind_double(statement, number, date.timeIntervalSinceReferenceDate)
        case .string(var text):
            // An empty text may have no address, which would mean NULL.
            guard !text.isEmpty else { return sqlite3_bind_text(statement, number, "", 0, copies) }
            return text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(statement, number, $0.baseAddress, Int32($0.count), copies)
                }
            }
        case .strings(let texts):
            return bind(statement, number, .string(SQLiteTextList.encode(texts)))
        case .uuid(let id): return withUnsafeBytes(of: id.uuid) { blob(statement, number, $0, copies) }
        case .data(let data): return data.withUnsafeBytes { blob(statement, number, $0, copies) }
        case .links: return SQLITE_MISUSE
        }
    }

    private func blob(
        _ statement: OpaquePointer?,
        _ number: Int32,
        _ bytes: UnsafeRawBufferPointer,
        _ destructor: sqlite3_destructor_type?
    ) -> Int32 {
        sqlite3_bind_blob(statement, number, bytes.baseAddress, Int32(bytes.count), destructor)
    }

    private func failure(_ sql: String) -> HabitStoreError {
        HabitStoreError(
            .inputOutput,
            "SQLite refuses \(sql): \(String(cString: sqlite3_errmsg(handle)))",
            at: .init(path: path)
        )
    }
}
