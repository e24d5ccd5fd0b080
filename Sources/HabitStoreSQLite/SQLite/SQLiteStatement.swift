internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A prepared statement: bind, step, read the columns of the row, reset.
///
/// Belongs to its connection, and like it is used by one thread at a time. Stepping and reading columns allocate nothing except the
/// requested Swift value.
final class SQLiteStatement {
    let sql: String
    let parameterCount: Int32
    let handle: SQLiteHandle
    let pointer: OpaquePointer
    /// 16 bytes for each parameter, so that binding a UUID does not allocate. Created when the first one is bound.
    var identifierBytes: UnsafeMutableRawPointer?

    /// For the cache: whether the statement is in it, whether it is in use, and when it was last borrowed.
    var isKept = false
    var isBorrowed = false
    var lastUse: UInt64 = 0
    private var isFinished = false

    /// Compiles one statement. `isKept` tells SQLite that it will be used for a long time.
    init(_ sql: String, handle: SQLiteHandle, isKept: Bool) throws {
        guard !handle.isClosed else { throw Self.closedError(path: handle.path) }
        self.sql = sql
        self.handle = handle
        var compiled: OpaquePointer?
        var text = sql
        let (result, hasMore) = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters -> (Int32, Bool) in
                guard let start = characters.baseAddress, let length = Int32(exactly: characters.count) else {
                    return (characters.isEmpty ? SQLITE_OK : SQLITE_TOOBIG, false)
                }
                let blanks: [CChar] = [0x09, 0x0a, 0x0d, 0x20, 0x3b]
                let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
                var tail: UnsafePointer<CChar>?
                let result = sqlite3_prepare_v3(handle.pointer, start, length, flags, &compiled, &tail)
                let used = tail.map { $0 - start } ?? characters.count
                let hasMore = characters.dropFirst(used).contains { !blanks.contains($0) }
                return (result, hasMore)
            }
        }
        guard result == SQLITE_OK else { throw handle.error(result, while: "preparing a statement") }
        guard let compiled else {
            throw HabitStoreError(.internalInconsistency, "an empty text was prepared as a statement")
        }
        guard !hasMore else {
            sqlite3_finalize(compiled)
            throw HabitStoreError(.internalInconsistency, "a text with more than one statement was prepared")
        }
        pointer = compiled
        parameterCount = sqlite3_bind_parameter_count(compiled)
    }

    deinit {
        sqlite3_finalize(pointer)
        identifierBytes?.deallocate()
    }

    /// Whether more rows can follow, so that the statement holds a snapshot.
    var isActive: Bool { sqlite3_stmt_busy(pointer) != 0 }

    /// Moves to the next row; false after the last one, until ``reset()``.
    func step() throws -> Bool {
        if isFinished { return false }
        guard !handle.isClosed else { throw Self.closedError(path: handle.path) }
        handle.beginStep()
        let result = sqlite3_step(pointer)
        if result == SQLITE_ROW { return true }
        if result == SQLITE_DONE {
            isFinished = true
            return false
        }
        let error = handle.error(result, while: "running a statement")
        // Some errors end the whole transaction; a body that continues must not take it for committed.
        if sqlite3_get_autocommit(handle.pointer) != 0 { handle.rollbackCause = error.underlying as? SQLiteResult }
        reset()
        throw error
    }

    /// Runs a statement to its end, ignoring any rows, and resets it.
    func run() throws {
        defer { reset() }
        while try step() {}
    }

    /// Makes the statement ready to run again; its bindings remain.
    func reset() {
        isFinished = false
        guard !handle.isClosed else { return }
        // The result repeats the error that the last step has already thrown.
        sqlite3_reset(pointer)
    }

    /// Makes the statement ready to run again with every parameter NULL.
    func clear() {
        reset()
        guard parameterCount > 0, !handle.isClosed else { return }
        sqlite3_clear_bindings(pointer)
    }

    static func closedError(path: String) -> HabitStoreError {
        HabitStoreError(
            .closed,
            "the connection of this statement was closed; begin a new transaction",
            at: HabitStoreError.Location(path: path)
        )
    }
}
