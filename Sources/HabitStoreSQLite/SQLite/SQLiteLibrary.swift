internal import CSQLite
import Foundation
import HabitStore
import Synchronization

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

/// The requirements for the linked SQLite library.
enum SQLiteLibrary {
    /// STRICT tables were added in 3.37.
    static let minimumVersion: Int32 = 3_037_000

    /// The version of the library at run time, as 3040001 for 3.40.1. A shared library can differ from the header.
    static var version: Int32 { sqlite3_libversion_number() }

    /// Rejects a library that is too old or that was built without mutexes: connections are used from many threads.
    static func check(version: Int32 = Self.version, isThreadSafe: Bool = sqlite3_threadsafe() != 0) throws {
        guard version >= minimumVersion else {
            throw HabitStoreError(
                .unsupported,
                "this program needs SQLite \(text(of: minimumVersion)) or later and runs with \(text(of: version)); "
                    + "install a newer libsqlite3"
            )
        }
        guard isThreadSafe else {
            throw HabitStoreError(
                .unsupported,
                "the SQLite library was built without thread safety; install one built with SQLITE_THREADSAFE=1 or 2"
            )
        }
    }

    private static func text(of version: Int32) -> String {
        "\(version / 1_000_000).\(version / 1_000 % 1_000).\(version % 1_000)"
    }
}

/// Translates SQLite's result codes to errors of HabitStore. Nothing else does.
enum SQLiteError {
    /// The error for a result of `database`.
    ///
    /// SQLite's own message can contain table names and parts of a statement, so it goes to the detail rather than the message.
    static func make(
        _ code: Int32,
        database: OpaquePointer?,
        path: String,
        while action: String
    ) -> HabitStoreError {
        var result = SQLiteResult(code: code, systemError: 0)
        var detail: String?
        if let database {
            if sqlite3_extended_errcode(database) == code { detail = String(cString: sqlite3_errmsg(database)) }
            result = SQLiteResult(code, of: database)
        }
        return make(result, path: path, while: action, detail: detail)
    }

    /// The error for a result that was already taken from its connection.
    static func make(
        _ result: SQLiteResult,
        path: String,
        while action: String,
        detail: String? = nil
    ) -> HabitStoreError {
        let code = boundaryCode(of: result, path: path)
        return HabitStoreError(
            code,
            "\(action) failed (\(result)); \(advice(for: code, result))",
            at: HabitStoreError.Location(path: path),
            detail: detail,
            underlying: result,
            isDamage: code == .corrupt || result.primary == SQLITE_NOTADB
        )
    }

    /// The error code for an extended result code.
    static func boundaryCode(of result: SQLiteResult, path: String) -> HabitStoreError.Code {
        if let special = extendedCodes[result.code] { return special }
        switch result.primary {
        case SQLITE_CANTOPEN: return cannotOpenCode(of: result, path: path)
        case SQLITE_IOERR: return isOutOfSpace(result.systemError) ? .full : .inputOutput
        default: return primaryCodes[result.primary] ?? .internalInconsistency
        }
    }

    /// The extended codes that differ in meaning from their primary code.
    private static let extendedCodes: [Int32: HabitStoreError.Code] = [
        code(SQLITE_IOERR, 12): .limitExceeded,  // IOERR_NOMEM
        code(SQLITE_READONLY, 4): .fileMoved,  // READONLY_DBMOVED
        code(SQLITE_CONSTRAINT, 3): .danglingReference,  // CONSTRAINT_FOREIGNKEY
        code(SQLITE_CONSTRAINT, 6): .uniqueViolation,  // CONSTRAINT_PRIMARYKEY
        code(SQLITE_CONSTRAINT, 8): .uniqueViolation,  // CONSTRAINT_UNIQUE
        code(SQLITE_CONSTRAINT, 10): .uniqueViolation,  // CONSTRAINT_ROWID
    ]

    private static let primaryCodes: [Int32: HabitStoreError.Code] = [
        SQLITE_NOTADB: .notAStore,
        SQLITE_CORRUPT: .corrupt,
        SQLITE_FORMAT: .corrupt,
        SQLITE_FULL: .full,
        SQLITE_READONLY: .permissionDenied,
        SQLITE_PERM: .permissionDenied,
        SQLITE_AUTH: .permissionDenied,
        SQLITE_BUSY: .busy,
        SQLITE_LOCKED: .busy,
        SQLITE_PROTOCOL: .busy,
        SQLITE_NOMEM: .limitExceeded,
        SQLITE_TOOBIG: .limitExceeded,
        SQLITE_NOLFS: .limitExceeded,
        SQLITE_INTERRUPT: .limitExceeded,
        SQLITE_CONSTRAINT: .invalidValue,
        SQLITE_MISMATCH: .invalidValue,
        SQLITE_SCHEMA: .schemaMismatch,
    ]

    private static func code(_ primary: Int32, _ extension: Int32) -> Int32 { primary | `extension` << 8 }

    /// `errno` is the most precise answer. If SQLite left none, this examines the path itself.
    private static func cannotOpenCode(of result: SQLiteResult, path: String) -> HabitStoreError.Code {
        if isOutOfSpace(result.systemError) { return .full }
        switch result.systemError {
        case EACCES, EPERM, EROFS: return .permissionDenied
        case EMFILE, ENFILE, ENAMETOOLONG: return .limitExceeded
        case EIO: return .inputOutput
        default: break
        }
        do {
            guard let status = try SQLiteFiles.status(of: path) else { return .notFound }
            return status.kind == .regular ? .inputOutput : .notAStore
        } catch {
            // If even examining the path fails, that error has the right code.
            return (error as? HabitStoreError)?.code ?? .inputOutput
        }
    }

    private static func isOutOfSpace(_ systemError: Int32) -> Bool {
        systemError == ENOSPC || systemError == EDQUOT
    }

    private static func advice(for code: HabitStoreError.Code, _ result: SQLiteResult? = nil) -> String {
        if result?.primary == SQLITE_INTERRUPT {
            return "it ran longer than it does on an undamaged store; run `\(OperatorCommand.name) check`"
        }
        return switch code {
        case .notAStore: "it belongs to another program or is damaged: check the path, or restore a backup"
        case .notFound: "check that the file was not moved, and open it again"
        case .fileMoved: "close the store and open it again"
        case .corrupt: "keep the file and its log, check it, and restore a backup"
        case .full: "free some space and try again"
        case .permissionDenied: "check the owner and the mode of the file, its log and its folder"
        case .busy: "try again later"
        case .inputOutput: "check the disk"
        case .limitExceeded: "memory or a limit of the library is used up"
        case .uniqueViolation, .danglingReference, .invalidValue: "nothing was written by this statement"
        case .schemaMismatch: "the tables changed meanwhile; open the store again"
        default: "this is a defect of the program"
        }
    }
}

extension SQLiteError {
    /// The error for a failed system call on a path.
    static func system(_ systemError: Int32, path: String, while action: String) -> HabitStoreError {
        let code: HabitStoreError.Code
        switch systemError {
        case ENOENT, ENOTDIR, ELOOP: code = .notFound
        case EACCES, EPERM, EROFS: code = .permissionDenied
        case EMFILE, ENFILE, ENAMETOOLONG, ENOMEM, ENOLCK: code = .limitExceeded
        case EISDIR: code = .notAStore
        case ENOTSUP: code = .unsupported
        default: code = isOutOfSpace(systemError) ? .full : .inputOutput
        }
        return HabitStoreError(
            code,
            "\(action) failed (\(String(cString: strerror(systemError)))); \(advice(for: code))",
            at: HabitStoreError.Location(path: path),
            underlying: POSIXErrorCode(rawValue: systemError).map { POSIXError($0) }
        )
    }
}

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

/// The memory that SQLite uses for all connections of this process.
enum SQLiteMemory {
    /// The last limit that was set here, which a new one may replace, unlike the app's own.
    private static let limit = Mutex<Int64>(0)

    /// Sets the soft heap limit, unless the app has set a lower one.
    static func limit(toBytes bytes: Int) {
        limit.withLock { limit in
            let present = sqlite3_soft_heap_limit64(-1)
            let wanted = Int64(max(1, bytes))
            guard present <= 0 || present == limit || present > wanted else { return }
            sqlite3_soft_heap_limit64(wanted)
            limit = wanted
        }
    }

    static var bytes: Int { Int(sqlite3_memory_used()) }
}
