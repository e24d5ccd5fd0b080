import CLMDB
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Makes new, empty files.
///
/// A file is made under another name and then given its own: whoever finds the path finds a whole file, however the
/// process ended. That is why an empty file at a path is always refused: it is what is left of a store, never one that
/// is about to be made.
enum LMDBFileCreator {
    /// Makes the file. It is no error when another process or thread was first.
    static func create(path: String, mapSizeBytes: Int) throws {
        let draft = "\(path).new-\(getpid())-\(LMDBPlatform.currentThread)"
        // What a process of the same number left when it died.
        unlink(draft)
        defer { unlink(draft) }
        try writeEmptyFile(path: draft, mapSizeBytes: mapSizeBytes)
        try give(draft, itsName: path)
        try LMDBPlatform.synchronizeFolder(of: path)
    }

    private static func writeEmptyFile(path: String, mapSizeBytes: Int) throws {
        var created: OpaquePointer?
        var returnCode = mdb_env_create(&created)
        guard returnCode == 0, let created else {
            throw LMDBError.error(returnCode, during: "making the file", path: path)
        }
        defer { mdb_env_close(created) }
        // Nobody else knows the name yet, so there is nothing to lock.
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK)
        returnCode = mdb_env_set_mapsize(created, mapSizeBytes)
        if returnCode == 0 { returnCode = mdb_env_open(created, path, flags, 0o600) }
        if returnCode == 0 { returnCode = mdb_env_sync(created, 1) }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "making the file", path: path) }
    }

    private static func give(_ draft: String, itsName path: String) throws {
        if link(draft, path) == 0 || errno == EEXIST { return }
        guard errno == EPERM || errno == ENOTSUP || errno == EOPNOTSUPP else {
            throw LMDBError.error(errno, during: "making the file", path: path)
        }
        // A file system without links: take the name first, so that nobody's file is replaced.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw LMDBError.error(errno, during: "making the file", path: path)
        }
        close(descriptor)
        guard rename(draft, path) == 0 else {
            let failure = errno
            unlink(path)
            throw LMDBError.error(failure, during: "making the file", path: path)
        }
    }
}
