internal import CSQLite
import Foundation
import HabitStore

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
        case .notAStore: "choose another file"
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
