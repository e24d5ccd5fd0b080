import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
import SQLite3
#endif

/// A SQLite database for the fleet's index: one process at a time writes it, and it can be rebuilt.
final class IndexDatabase {
    private let handle: OpaquePointer
    private let path: String
    private var statements: [String: OpaquePointer] = [:]

    /// A value to bind.
    enum Value: Hashable {
        case null
        case int(Int)
        case double(Double)
        case text(String)
    }

    /// - Parameter mayMake: whether to create a missing file.
    init(_ path: String, mayMake: Bool) throws {
        self.path = path
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (mayMake ? SQLITE_OPEN_CREATE : 0)
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "there is no memory"
            sqlite3_close_v2(handle)
            throw Self.failure(code, message, path)
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, 10_000)
        chmod(path, 0o600)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Runs statements without values.
    func run(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Runs one statement and passes each row to `body`.
    func query(_ sql: String, _ values: [Value] = [], _ body: (Row) throws -> Void = { _ in }) throws {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (number, value) in values.enumerated() {
            let code = bind(value, statement, Int32(number + 1))
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(Row(statement: statement))
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// Runs `body` in a transaction.
    func transaction(_ body: () throws -> Void) throws {
        try run("BEGIN IMMEDIATE")
        do {
            try body()
            try run("COMMIT")
        } catch {
            // The failure may have ended the transaction.
            if sqlite3_get_autocommit(handle) == 0 { try run("ROLLBACK") }
            throw error
        }
    }

    private func prepared(_ sql: String) throws -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code) }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: Value, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(statement, place)
        case .int(let value): sqlite3_bind_int64(statement, place, Int64(value))
        case .double(let value): sqlite3_bind_double(statement, place, value)
        case .text(let value):
            // The library copies the text; a NUL byte is an ordinary character.
            sqlite3_bind_text(
                statement,
                place,
                value,
                Int32(value.utf8.count),
                unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            )
        }
    }

    private func failure(_ code: Int32) -> HabitStoreError {
        Self.failure(code, String(cString: sqlite3_errmsg(handle)), path)
    }

    private static func failure(_ code: Int32, _ words: String, _ path: String) -> HabitStoreError {
        // SQLite's messages quote what it has read, and a damaged schema may contain anything.
        let message = words.split(whereSeparator: \.isNewline).joined(separator: " ")
        return switch code & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR:
            HabitStoreError(
                .corrupt,
                "the fleet's index is damaged (\(message)), so no user is moved: rebuild it from the stores with `\(OperatorCommand.name) fleet "
                    + "audit --rebuild`",
                at: .init(path: path)
            )
        case SQLITE_BUSY, SQLITE_LOCKED:
            HabitStoreError(.busy, "the fleet's index is in use; try again", at: .init(path: path))
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM:
            HabitStoreError(.inputOutput, "the fleet's index cannot be written: \(message)", at: .init(path: path))
        case SQLITE_CANTOPEN:
            HabitStoreError(.inputOutput, "the fleet's index cannot be opened: \(message)", at: .init(path: path))
        case SQLITE_READONLY, SQLITE_PERM:
            HabitStoreError(.permissionDenied, "the fleet's index cannot be written: \(message)", at: .init(path: path))
        default: HabitStoreError(.inputOutput, "the fleet's index: \(message)", at: .init(path: path))
        }
    }

    /// A row, valid only inside the closure that gets it.
    struct Row {
        fileprivate let statement: OpaquePointer

        func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

        func optionalInt(_ column: Int32) -> Int? {
            sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : int(column)
        }

        func optionalDouble(_ column: Int32) -> Double? {
            sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : sqlite3_column_double(statement, column)
        }

        func text(_ column: Int32) -> String? {
            guard let bytes = sqlite3_column_text(statement, column) else { return nil }
            let count = Int(sqlite3_column_bytes(statement, column))
            return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }
    }
}
