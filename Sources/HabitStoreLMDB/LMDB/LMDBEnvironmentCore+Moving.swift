import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension LMDBEnvironmentCore {
    /// Refuses to write where the path no longer leads to the open file: a commit would go into a file without a name, and
    /// be lost with the process that was told it is durable.
    ///
    /// The inode of an open file is not given to another one, so the device and the inode tell.
    func requireUnmoved() throws {
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_nlink > 0, LMDBFileIdentity(status) == identity { return }
        } else if ![ENOENT, ENOTDIR, ELOOP].contains(errno) {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        throw LMDBError.error(
            .fileMoved,
            "the file was moved, deleted or replaced while it was open; nothing was written; close the store and open it again",
            path: path
        )
    }
}
