import CSQLite
import Foundation
import HabitStore

/// SQLite without any of the engine's care: what a fixture needs to be written as it is, oddities included.
final class RawDatabase {
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    init(path: String) throws { try check(sqlite3_open(path, &handle)) }

    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close(handle)
        handle = nil
    }

    /// Packs the database, leaves it in WAL mode without a log, and closes it.
    func finish(_ path: String) throws {
        try execute("VACUUM")
        try execute("PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE);")
        close()
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Inserts a row with all columns.
    func insert(_ table: String, _ values: [Value]) throws {
        let statement = try statement(table, values.count)
        for (index, value) in values.enumerated() { try bind(value, statement, Int32(index + 1)) }
        let result = sqlite3_step(statement)
        guard result == SQLITE_DONE else { throw failure(result) }
        try check(sqlite3_reset(statement))
    }

    private func statement(_ table: String, _ count: Int) throws -> OpaquePointer? {
        if let prepared = statements[table] { return prepared }
        var prepared: OpaquePointer?
        let marks = Array(repeating: "?", count: count).joined(separator: ", ")
        try check(sqlite3_prepare_v2(handle, "INSERT INTO \"\(table)\" VALUES (\(marks))", -1, &prepared, nil))
        statements[table] = prepared
        return prepared
    }

    private func bind(_ value: Value, _ statement: OpaquePointer?, _ index: Int32) throws {
        switch value {
        case .null: try check(sqlite3_bind_null(statement, index))
        case .bool(let flag): try check(sqlite3_bind_int64(statement, index, flag ? 1 : 0))
        case .int(let number): try check(sqlite3_bind_int64(statement, index, number))
        case .double(let number): try check(sqlite3_bind_double(statement, index, number))
        case .date(let date):
            try check(sqlite3_bind_double(statement, index, date.timeIntervalSinceReferenceDate))
        case .string(let text):
            try check(
                Array(text.utf8).withUnsafeBufferPointer { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        sqlite3_bind_text(statement, index, $0.baseAddress, Int32($0.count), csqlite_transient())
                    }
                }
            )
        case .uuid(let id):
            try check(
                withUnsafeBytes(of: id.uuid) {
                    sqlite3_bind_blob(statement, index, $0.baseAddress, 16, csqlite_transient())
                }
            )
        case .data, .strings, .links:
            throw HabitStoreError(.unsupported, "fixtures write no such column")
        }
    }

    private func check(_ result: Int32) throws { if result != SQLITE_OK { throw failure(result) } }

    private func failure(_ result: Int32) -> HabitStoreError {
        HabitStoreError(.inputOutput, "SQLite: \(String(cString: sqlite3_errmsg(handle))) (\(result))")
    }
}
