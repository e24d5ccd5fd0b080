import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
import SQLite3
#endif

/// SQLite without the engine's checks: writes fixtures and planted changes unaltered, including odd ones.
package final class RawDatabase {
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    package init(path: String) throws { try check(sqlite3_open(path, &handle)) }

    deinit { close() }

    package func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close(handle)
        handle = nil
    }

    /// Vacuums the database, leaves it in WAL mode without a log, and closes it.
    package func finish(_ path: String) throws {
        try execute("VACUUM")
        try execute("PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE);")
        close()
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    /// Runs statements in order.
    package func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Inserts a row with all columns.
    package func insert(_ table: String, _ values: [Value]) throws {
        let statement = try statement(table, values.count)
        for (index, value) in values.enumerated() { try bind(value, statement, Int32(index + 1)) }
        let result = sqlite3_step(statement)
        guard result == SQLITE_DONE else { throw failure(result) }
        try check(sqlite3_reset(statement))
    }

    /// Runs a statement with parameters.
    ///
    /// - Returns: the first column of each row, as text; NULL is empty.
    @discardableResult
    package func run(_ sql: String, _ parameters: [Value] = []) throws -> [String] {
        try rows(sql, parameters) { statement in
            guard let text = sqlite3_column_text(statement, 0) else { return "" }
            return String(decoding: UnsafeBufferPointer(start: text, count: byteCount(statement)), as: UTF8.self)
        }
    }

    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(handle)) }

    private func byteCount(_ statement: OpaquePointer?) -> Int { Int(sqlite3_column_bytes(statement, 0)) }

    /// Changes the declaration of a table or an index, but none of its contents.
    ///
    /// - Throws: also if the declaration does not contain the text.
    package func redeclare(_ name: String, _ old: String, as new: String) throws {
        func literal(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "''") + "'" }
        try execute(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, \(literal(old)), \(literal(new)))
              WHERE name = \(literal(name)) AND instr(sql, \(literal(old)));
            PRAGMA writable_schema = OFF;
            """
        )
        guard changes == 1 else {
            throw HabitStoreError(.notFound, "\(name) is not declared with \(old)")
        }
    }

    /// Rebuilds a table with another declaration, with its rows and indexes.
    ///
    /// - Throws: also if the declaration does not change.
    package func rebuild(_ table: String, _ declare: (String) -> String) throws {
        guard let old = try run("SELECT sql FROM sqlite_schema WHERE name = '\(table)'").first else {
            throw HabitStoreError(.notFound, "there is no table \(table)")
        }
        let new = declare(old)
        guard new != old else { throw HabitStoreError(.notFound, "\(table) is not declared as expected") }
        let indexes = try run(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = '\(table)' AND type = 'index' AND sql <> ''"
        )
        let columns = try run("SELECT '\"' || name || '\"' FROM pragma_table_info('\(table)')").joined(
            separator: ", "
        )
        try execute("BEGIN; CREATE TABLE kept AS SELECT * FROM \"\(table)\"; DROP TABLE \"\(table)\"")
        try execute(new)
        try execute("INSERT INTO \"\(table)\" (\(columns)) SELECT \(columns) FROM kept; DROP TABLE kept")
        for index in indexes { try execute(index) }
        try execute("COMMIT")
    }

    /// Copies all tables and indexes into another file, which may have another text encoding.
    package func copy(to path: String, encoding: String) throws {
        let other = try RawDatabase(path: path)
        defer { other.close() }
        try other.execute("PRAGMA encoding = '\(encoding)'")
        for pragma in ["application_id", "user_version"] {
            for number in try run("PRAGMA \(pragma)") { try other.execute("PRAGMA \(pragma) = \(number)") }
        }
        for sql in try run("SELECT sql FROM sqlite_schema WHERE sql <> '' ORDER BY type = 'index'") {
            try other.execute(sql)
        }
        for table in try run("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql <> ''") {
            let columns = try run("SELECT name FROM pragma_table_info('\(table)')").count
            let insertion = try other.statement(table, columns)
            _ = try rows("SELECT * FROM \"\(table)\"") { row in
                for column in 0..<Int32(columns) {
                    try other.check(sqlite3_bind_value(insertion, column + 1, sqlite3_column_value(row, column)))
                }
                guard sqlite3_step(insertion) == SQLITE_DONE else { throw other.failure(sqlite3_errcode(other.handle)) }
                try other.check(sqlite3_reset(insertion))
            }
        }
        try other.execute("PRAGMA journal_mode = WAL")
    }

    private func rows<Row>(
        _ sql: String,
        _ parameters: [Value] = [],
        _ read: (OpaquePointer?) throws -> Row
    ) throws -> [Row] {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil))
        defer { sqlite3_finalize(prepared) }
        for (place, value) in zip(Int32(1)..., parameters) { try bind(value, prepared, place) }
        var rows: [Row] = []
        while true {
            let result = sqlite3_step(prepared)
            if result == SQLITE_DONE { return rows }
            guard result == SQLITE_ROW else { throw failure(result) }
            rows.append(try read(prepared))
        }
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
        // An empty text may have no address, which would mean NULL.
        case .string(""): try check(sqlite3_bind_text(statement, index, "", 0, csqlite_transient()))
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
        case .data(let data):
            try check(
                data.withUnsafeBytes {
                    sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), csqlite_transient())
                }
            )
        case .strings, .links: throw HabitStoreError(.unsupported, "no column has such values")
        }
    }

    private func check(_ result: Int32) throws { if result != SQLITE_OK { throw failure(result) } }

    private func failure(_ result: Int32) -> HabitStoreError {
        HabitStoreError(.inputOutput, "SQLite: \(String(cString: sqlite3_errmsg(handle))) (\(result))")
    }
}
