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

/// SQLite's own result, kept as the underlying error of a ``HabitStoreError``.
struct SQLiteResult: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code.
    let code: Int32
    /// `errno` if the operating system reported an error (opening, reading, writing), otherwise 0.
    let systemError: Int32

    /// The code without its extension.
    var primary: Int32 { code & 0xff }

    /// The code and SQLite's fixed sentence for it. Contains nothing from the store.
    var description: String {
        let sentence = String(cString: sqlite3_errstr(code))
        let cause = systemError == 0 ? "" : ", errno \(systemError)"
        return "SQLite \(code): \(sentence)\(cause)"
    }
}

extension SQLiteResult {
    /// The result that a call on `database` has just returned.
    ///
    /// If the system fails to read a page (EIO, ENXIO), the result is IOERR_CORRUPTFS inside SQLite but "malformed" for the caller
    /// of a statement, because `sqlite3VdbeExec` converts it. The file may be intact, so this is not reported as damage.
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

    /// The last `errno` of an operation on the database file or its log; 0 if none has failed since the last call.
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
            // Reading after the end of the file succeeds, which makes SQLite forget the error.
            var size: Int64 = 0
            var byte: UInt8 = 0
            if methods.xFileSize?(file, &size) == SQLITE_OK { _ = methods.xRead?(file, &byte, 1, size + 1 << 30) }
        }
        return refusal
    }
}
