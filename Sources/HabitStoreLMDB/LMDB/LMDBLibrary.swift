import CLMDB
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The liblmdb of this process, which may differ from the version that the program was built with: 1.0 has the same name as 0.9 and
/// cannot read its files.
package enum LMDBLibrary {
    /// A version of liblmdb. The third number does not affect files.
    struct Version: Equatable, Sendable, CustomStringConvertible {
        let major: Int32
        let minor: Int32
        let patch: Int32

        var description: String { "\(major).\(minor).\(patch)" }

        func hasFiles(of other: Version) -> Bool { major == other.major && minor == other.minor }
    }

    /// The version of the header that the program was built with.
    static let built = Version(major: MDB_VERSION_MAJOR, minor: MDB_VERSION_MINOR, patch: MDB_VERSION_PATCH)

    /// The version of the loaded library.
    static let found: Version = {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        _ = mdb_version(&major, &minor, &patch)
        return Version(major: major, minor: minor, patch: patch)
    }()

    /// Refuses to create a file with a library that writes another format: no build could open it.
    ///
    /// For an existing file, the library itself decides: some read more than one format.
    ///
    /// - Throws: `.engineUnavailable`.
    static func requireFiles(_ found: Version = Self.found, of built: Version = Self.built, path: String) throws {
        guard !found.hasFiles(of: built) else { return }
        throw LMDBError.error(
            .engineUnavailable,
            "this program was built with liblmdb \(built) and runs with liblmdb \(found), whose files have another format, so "
                + "no store can be made; install liblmdb \(built.major).\(built.minor)",
            path: path
        )
    }

    /// The error for an intact file that the library rejects with a code.
    ///
    /// - Parameters:
    ///   - file: the file, as named in the sentence.
    ///   - advice: additional advice, starting with a comma.
    static func refusal(
        _ returnCode: Int32,
        of file: String = "the file, though it is sound",
        advice: String = ", or remove the lock file if no process has the store open",
        _ found: Version = Self.found,
        path: String
    ) -> HabitStoreError {
        let failure = LMDBFailure(returnCode: returnCode)
        let versions =
            found.hasFiles(of: built)
            ? "liblmdb \(found)" : "liblmdb \(found) (the program was built with liblmdb \(built))"
        return HabitStoreError(
            .engineUnavailable,
            "\(versions) refuses \(file) (code \(returnCode), \(failure)); install liblmdb "
                + "\(built.major).\(built.minor)\(advice)",
            at: .init(path: path),
            underlying: failure
        )
    }

    /// Whether a code is about the current state of the system rather than the library or the file.
    static func isOfTheMoment(_ returnCode: Int32) -> Bool {
        [
            EACCES, EPERM, EROFS, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT, EFBIG, EIO, EAGAIN, EBUSY, EINTR, EDEADLK,
            ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG,
        ].contains(returnCode)
    }

    #if PLANNER_MUTANTS
    /// The codes that openings fail with, by path prefix: see ``failOpenings(under:with:)``.
    private static let failures = Mutex<[String: Int32]>([:])
    private static let failureOfAll = getenv("HABITSTORE_LMDB_OPEN_FAILS").flatMap { Int32(String(cString: $0)) }

    /// Makes opening any file with this path prefix fail as if liblmdb had returned the code; nil ends that. For tests.
    ///
    /// `HABITSTORE_LMDB_OPEN_FAILS` does the same for all files of a process.
    package static func failOpenings(under prefix: String, with returnCode: Int32?) {
        failures.withLock { $0[prefix] = returnCode }
    }

    /// The code that opening a file must fail with.
    static func plantedFailure(_ path: String) -> Int32? {
        failureOfAll ?? failures.withLock { failures in failures.first { path.hasPrefix($0.key) }?.value }
    }
    #endif

    /// Opens an environment; 0 on success.
    static func open(_ environment: OpaquePointer, path: String, flags: UInt32) -> Int32 {
        #if PLANNER_MUTANTS
        if let planted = plantedFailure(path) { return planted }
        #endif
        return mdb_env_open(environment, path, flags, 0o600)
    }
}

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

/// The memory that many environments take in a process.
///
/// For each environment that may be written, LMDB allocates lists of 1 and 2 MiB, which small transactions hardly use. glibc gives
/// such blocks their own mapping, whose pages take no memory until they are touched. But as soon as one was freed, it allocates
/// them from its heap and zeroes the larger one there: five times the memory that a small user's store takes otherwise, and a
/// slower opening.
enum LMDBFootprint {
    /// The number of open environments from which this matters.
    private static let many = 16
    private static let count = Atomic<Int>(0)

    static func opened() {
        guard count.add(1, ordering: .relaxed).newValue == many, !isTuned else { return }
        clmdb_map_large_blocks()
    }

    static func closed() { count.subtract(1, ordering: .relaxed) }

    /// Whether the environment of the process already sets the threshold.
    private static var isTuned: Bool {
        let environment = ProcessInfo.processInfo.environment
        return environment["MALLOC_MMAP_THRESHOLD_"] != nil
            || environment["GLIBC_TUNABLES"]?.contains("mmap_threshold") == true
    }
}
