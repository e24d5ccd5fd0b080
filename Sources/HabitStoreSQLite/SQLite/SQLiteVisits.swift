internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The records that statements visited: they call the SQL function `habitstore_visit(kind, id)` for each.
///
/// SQLite calls a nondeterministic function for each row before any condition that follows it, and does not evaluate conditions
/// that an index answers. So the calls correspond to the entries of the index range or of the table.
final class SQLiteVisits {
    /// The visited kind; the number is the function's first argument.
    enum Kind: Int32 {
        /// A row of the fetched entity.
        case row = 0
        /// A row of the fetched entity in one of several index ranges that the query unites.
        case branch = 1
        /// A record that a relationship leads to.
        case related = 2
    }

    private var rows = 0
    private var branches: Set<[UInt8]> = []
    private var related = 0

    /// Sets the counts to 0.
    func reset() { (rows, branches, related) = (0, [], 0) }

    /// The number of visited records. One in several ranges of a union counts once.
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
    /// The counter of this connection; its first use registers the function.
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
                    // SQLite requires asking for the bytes before the length.
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
    /// The number of rows that the statement moved to in scans of whole tables or indexes since the last call.
    func takeScanSteps() -> Int {
        guard !handle.isClosed else { return 0 }
        return Int(sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
    }
}
