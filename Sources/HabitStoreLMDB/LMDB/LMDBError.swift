import CLMDB
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A return code of liblmdb, kept as the underlying error of a ``HabitStoreError``.
struct LMDBFailure: Error, Equatable, CustomStringConvertible {
    /// Negative for LMDB's own codes, positive for an `errno`.
    let returnCode: Int32

    /// A database is of another kind than it was opened as.
    static let otherOrder = LMDBFailure(returnCode: MDB_INCOMPATIBLE)

    /// The system's message for an `errno`, LMDB's for its own codes.
    var description: String {
        guard returnCode < 0 else { return String(cString: strerror(returnCode)) }
        guard let text = mdb_strerror(returnCode) else { return "code \(returnCode)" }
        return String(cString: text)
    }
}

/// Translates return codes to errors. Nothing else does.
enum LMDBError {
    /// The error for a return code other than success.
    static func error(_ returnCode: Int32, during action: String, path: String) -> HabitStoreError {
        let (code, advice) = meaning(of: returnCode)
        let failure = LMDBFailure(returnCode: returnCode)
        return HabitStoreError(
            code,
            "\(action): \(advice) (\(failure.description))",
            at: .init(path: path),
            underlying: failure,
            isDamage: code == .corrupt || returnCode == MDB_INVALID
        )
    }

    /// An error without a return code.
    static func error(
        _ code: HabitStoreError.Code,
        _ message: String,
        path: String,
        entity: String? = nil
    ) -> HabitStoreError {
        HabitStoreError(code, message, at: .init(path: path, entity: entity), isDamage: code == .corrupt)
    }

    private static func meaning(of returnCode: Int32) -> (HabitStoreError.Code, String) {
        returnCode < 0 ? meaningOfLibraryCode(returnCode) : meaningOfSystemCode(returnCode)
    }

    private static func meaningOfLibraryCode(_ returnCode: Int32) -> (HabitStoreError.Code, String) {
        switch returnCode {
        case MDB_MAP_FULL:
            return (.full, "the transaction was larger than the reserve; the reserve grows now, try again")
        case MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_CURSOR_FULL, MDB_PAGE_FULL:
            return (.corrupt, "the file is damaged; check it and restore a copy")
        case MDB_INVALID:
            return (.notAStore, "the file or its lock file is not LMDB's")
        case MDB_VERSION_MISMATCH:
            return (.newerVersion, "the file, or a program that has it open, is of another version of LMDB")
        case MDB_PANIC:
            return (.inputOutput, "an earlier write failed; the file is reopened before the next transaction")
        case MDB_READERS_FULL:
            return (.limitExceeded, "too many read transactions are open; end some, or raise maxReaders")
        case MDB_DBS_FULL:
            return (.limitExceeded, "too many named databases; raise maxDatabases")
        case MDB_TXN_FULL:
            return (.limitExceeded, "the transaction changes too many pages; split it")
        case MDB_TLS_FULL:
            return (.limitExceeded, "too many stores are open; close some")
        case MDB_BAD_VALSIZE:
            return (.limitExceeded, "the key or value has a size that cannot be kept")
        case MDB_MAP_RESIZED:
            return (.busy, "another process enlarged the file and it cannot be mapped again now; try again")
        case MDB_NOTFOUND:
            return (.notFound, "nothing has this key")
        default:
            return (.internalInconsistency, "liblmdb was used in a way it refuses")
        }
    }

    private static func meaningOfSystemCode(_ returnCode: Int32) -> (HabitStoreError.Code, String) {
        switch returnCode {
        case ENOENT:
            return (.notFound, "nothing is there")
        case EACCES, EPERM:
            return (.permissionDenied, "the operating system refused; check owner and mode of the file and its folder")
        case EROFS:
            return (.permissionDenied, "the disk is read-only")
        case ENOSPC, EDQUOT, EFBIG:
            return (.full, "no space is left; free some and try again")
        case EIO:
            return (
                .inputOutput,
                "reading or writing failed; the disk may be faulty or full (LMDB reports a write that a full disk"
                    + " cut short as an I/O error)"
            )
        case EISDIR, ENOTDIR:
            return (.notAStore, "a folder is where a file should be, or the other way round")
        case EEXIST:
            return (.inputOutput, "something is there already and is not overwritten")
        case EMFILE, ENFILE:
            return (.limitExceeded, "too many files are open; close some stores")
        case ENOMEM:
            return (.limitExceeded, "no memory or address space is left")
        case EAGAIN, EBUSY, EINTR, EDEADLK:
            return (.busy, "another process is opening or closing the file; try again")
        case ELOOP:
            return (.notFound, "the path is a link that leads back to itself")
        case ENAMETOOLONG:
            return (.invalidValue, "the path cannot be used")
        case EINVAL:
            return (.internalInconsistency, "liblmdb or the system was called in a way it refuses")
        default:
            return (.inputOutput, "the operating system reported an error")
        }
    }
}
