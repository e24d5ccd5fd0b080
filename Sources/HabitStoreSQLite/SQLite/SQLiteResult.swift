internal import CSQLite

#if canImport(SQLite3)
internal import SQLite3
#endif

/// SQLite's own result, kept as the cause below a ``HabitStoreError``.
struct SQLiteResult: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code.
    let code: Int32
    /// `errno` where the operating system refused (opening, reading, writing), else 0.
    let systemError: Int32

    /// The code without its extension.
    var primary: Int32 { code & 0xff }

    /// The code and SQLite's fixed sentence for it. Holds nothing from the store.
    var description: String {
        let sentence = String(cString: sqlite3_errstr(code))
        let cause = systemError == 0 ? "" : ", errno \(systemError)"
        return "SQLite \(code): \(sentence)\(cause)"
    }
}
