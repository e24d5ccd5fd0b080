internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// What statements looked at: they call the SQL function `habitstore_visit(kind, id)` for each record.
///
/// SQLite calls a function that is not deterministic for each row, before any condition that stands behind it; those
/// that an index answers are not evaluated at all. So the calls are the entries of the index range, or of the table.
final class SQLiteVisits {
    /// What is looked at; the number is the function's first argument.
    enum Kind: Int32 {
        /// A row of the entity asked for.
        case row = 0
        /// A row of the entity asked for, in one of several index ranges whose union is wanted.
        case branch = 1
        /// A record that a relationship leads to.
        case related = 2
    }

    private var rows = 0
    private var branches: Set<[UInt8]> = []
    private var related = 0

    /// Starts again.
    func reset() { (rows, branches, related) = (0, [], 0) }

    /// How many records were looked at. One that lies in several ranges of a union counts once.
    var count: Int { max(rows, branches.count) + related }

    fileprivate func note(_ kind: Int32, _ id: UnsafeRawBufferPointer) {
        switch Kind(rawValue: kind) {
        case .row: rows += 1
        case .branch: branches.insert(Array(id))
        case .related, nil: related += 1
        }
    }
}

extension SQLiteConnection {
    /// The counter of this connection; its first use makes the function known.
    func countingVisits() throws -> SQLiteVisits {
        try checkOpen()
        if let visits { return visits }
        let counter = SQLiteVisits()
        let result = sqlite3_create_function_v2(
            handle.pointer,
            "habitstore_visit",
            2,
            SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(counter).toOpaque(),
            { context, _, arguments in
                if let data = sqlite3_user_data(context), let arguments, let kind = arguments[0], let id = arguments[1]
                {
                    let counter = Unmanaged<SQLiteVisits>.fromOpaque(data).takeUnretainedValue()
                    // The length has to be asked for after the bytes.
                    let bytes = sqlite3_value_blob(id)
                    let count = Int(sqlite3_value_bytes(id))
                    counter.note(sqlite3_value_int(kind), UnsafeRawBufferPointer(start: bytes, count: count))
                }
                sqlite3_result_int(context, 1)
            },
            nil,
            nil,
            { data in
                if let data { Unmanaged<SQLiteVisits>.fromOpaque(data).release() }
            }
        )
        guard result == SQLITE_OK else { throw handle.error(result, while: "adding a function") }
        visits = counter
        return counter
    }
}

extension SQLiteStatement {
    /// How many rows the statement went on to in scans of whole tables or indexes since this was last asked.
    func takeScanSteps() -> Int {
        guard !handle.isClosed else { return 0 }
        return Int(sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
    }
}
