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
/// A file is made under another name and then given its own (see ``LMDBDraft``). That is why an empty file at a path is always
/// refused: it is what is left of a store, never one that is about to be made.
enum LMDBFileCreator {
    /// Makes the file. It is no error when another process or thread was first.
    static func create(path: String, mapSizeBytes: Int) throws {
        try LMDBLibrary.requireFiles(path: path)
        let draft = LMDBDraft.path(for: path)
        // What a process of the same number left when it died.
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
        // Nobody else knows the name yet, so there is nothing to lock.
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
