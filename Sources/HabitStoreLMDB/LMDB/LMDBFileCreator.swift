import CLMDB
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Creates new, empty files.
///
/// A file is created under a temporary name and then renamed (see ``LMDBDraft``). So an empty file at a path is always rejected: it
/// is what is left of a store, never one that is being created.
enum LMDBFileCreator {
    /// Creates the file. It is not an error if another process or thread was first.
    static func create(path: String, mapSizeBytes: Int) throws {
        try LMDBLibrary.requireFiles(path: path)
        let draft = LMDBDraft.path(for: path)
        // Left by a dead process with the same number.
        unlink(draft)
        defer { unlink(draft) }
        try writeEmptyFile(draft, for: path, mapSizeBytes: mapSizeBytes)
        _ = try LMDBDraft.give(draft, itsName: path, during: "making the file")
        try LMDBPlatform.synchronizeFolder(of: path)
    }

    private static func writeEmptyFile(_ draft: String, for path: String, mapSizeBytes: Int) throws {
        var created: OpaquePointer?
        var returnCode = mdb_env_create(&created)
        guard returnCode == 0, let created else {
            throw LMDBError.error(returnCode, during: "making the file", path: path)
        }
        defer { mdb_env_close(created) }
        // No other process knows the name yet, so there is nothing to lock.
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK)
        returnCode = mdb_env_set_mapsize(created, mapSizeBytes)
        if returnCode == 0 { returnCode = LMDBLibrary.open(created, path: draft, flags: flags) }
        if returnCode != 0, !LMDBLibrary.isOfTheMoment(returnCode) {
            throw LMDBLibrary.refusal(returnCode, of: "a new file", advice: "", path: path)
        }
        if returnCode == 0 { returnCode = mdb_env_sync(created, 1) }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "making the file", path: path) }
    }
}
