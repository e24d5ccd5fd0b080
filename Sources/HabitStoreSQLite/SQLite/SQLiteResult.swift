internal import CSQLite

#if canImport(SQLite3)
internal import SQLite3
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
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

extension SQLiteResult {
    /// The result that a call on `database` has just given.
    ///
    /// A page that the system fails to read (EIO, ENXIO) is IOERR_CORRUPTFS inside of SQLite, and "malformed" to whoever runs
    /// a statement: `sqlite3VdbeExec` makes the one into the other. The file may be sound, and is not called damaged for it.
    init(_ code: Int32, of database: OpaquePointer) {
        switch code & 0xff {
        case SQLITE_IOERR, SQLITE_CORRUPT:
            let refusal = Self.takeRefusal(of: database)
            if code == SQLITE_CORRUPT, refusal == EIO || refusal == ENXIO {
                self.init(code: SQLITE_IOERR | 33 << 8, systemError: refusal)
            } else {
                self.init(code: code, systemError: code & 0xff == SQLITE_IOERR ? sqlite3_system_errno(database) : 0)
            }
        case SQLITE_CANTOPEN: self.init(code: code, systemError: sqlite3_system_errno(database))
        default: self.init(code: code, systemError: 0)
        }
    }

    /// What the system refused last to do with the database's file or its log, as `errno`; 0 where it refused nothing since
    /// this was asked.
    private static func takeRefusal(of database: OpaquePointer) -> Int32 {
        var refusal: Int32 = 0
        for pointer in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            var file: UnsafeMutablePointer<sqlite3_file>?
            guard sqlite3_file_control(database, "main", pointer, &file) == SQLITE_OK, let file,
                let methods = file.pointee.pMethods?.pointee
            else { continue }
            var last: Int32 = 0
            guard methods.xFileControl?(file, SQLITE_FCNTL_LAST_ERRNO, &last) == SQLITE_OK, last != 0 else { continue }
            if refusal == 0 { refusal = last }
            // Behind the end of the file there is nothing to refuse, and SQLite forgets the error.
            var size: Int64 = 0
            var byte: UInt8 = 0
            if methods.xFileSize?(file, &size) == SQLITE_OK { _ = methods.xRead?(file, &byte, 1, size + 1 << 30) }
        }
        return refusal
    }
}
