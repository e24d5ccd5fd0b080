import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Files that are made under another name and then given their own: whoever finds the path finds a whole file, however the
/// process ended, and nothing that is there is ever overwritten.
enum LMDBDraft {
    /// A name beside the file's own, for this thread.
    static func path(for path: String) -> String { "\(path).new-\(getpid())-\(LMDBPlatform.currentThread)" }

    /// Makes a new file durably of what `body` writes to a descriptor.
    ///
    /// - Throws: what `body` throws; `.inputOutput` when something has the name already. The file is not there then.
    static func write(_ path: String, during action: String, _ body: (Int32) throws -> Void) throws {
        var status = stat()
        // Looked at first, so that nobody waits for a copy that cannot be put in its place.
        guard lstat(path, &status) != 0 else { throw LMDBError.error(EEXIST, during: action, path: path) }
        let draft = Self.path(for: path)
        // What a process of the same number left when it died.
        unlink(draft)
        let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError.error(errno, during: action, path: path) }
        defer { unlink(draft) }
        do {
            defer { close(descriptor) }
            try body(descriptor)
            guard fsync(descriptor) == 0 else { throw LMDBError.error(errno, during: action, path: path) }
        }
        guard try give(draft, itsName: path, during: action) else {
            throw LMDBError.error(EEXIST, during: action, path: path)
        }
        do {
            try LMDBPlatform.synchronizeFolder(of: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Gives a draft its name.
    ///
    /// - Returns: false when something has the name already.
    static func give(_ draft: String, itsName path: String, during action: String) throws -> Bool {
        if link(draft, path) == 0 { return true }
        if errno == EEXIST { return false }
        guard errno == EPERM || errno == ENOTSUP || errno == EOPNOTSUPP else {
            throw LMDBError.error(errno, during: action, path: path)
        }
        // A file system without links: take the name first, so that nobody's file is replaced.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw LMDBError.error(errno, during: action, path: path)
        }
        close(descriptor)
        guard rename(draft, path) == 0 else {
            let failure = errno
            unlink(path)
            throw LMDBError.error(failure, during: action, path: path)
        }
        return true
    }
}
