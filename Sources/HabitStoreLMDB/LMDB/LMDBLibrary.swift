import CLMDB
import HabitStore
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
