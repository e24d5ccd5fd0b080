import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Creates files under a temporary name and then renames them: a file at the path is always complete, however the process ended,
/// and an existing file is never overwritten.
enum LMDBDraft {
    /// A name next to the file's own, for this thread.
    static func path(for path: String) -> String { "\(path).new-\(getpid())-\(LMDBPlatform.currentThread)" }

    /// Durably creates a new file from what `body` writes to a descriptor.
    ///
    /// - Throws: the errors of `body`; `.inputOutput` if the name is taken. The file does not exist then.
    static func write(_ path: String, during action: String, _ body: (Int32) throws -> Void) throws {
        var status = stat()
        // Checked first, so that no caller waits for a copy that cannot be put in its place.
        guard lstat(path, &status) != 0 else { throw LMDBError.error(EEXIST, during: action, path: path) }
        let draft = Self.path(for: path)
        defer { unlink(draft) }
        do {
            try DurableFile.create(draft) { try body($0.descriptor) }
        } catch let failure as FileFailure {
            throw LMDBError.error(failure.number, during: action, path: path)
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

    /// Gives a draft its final name.
    ///
    /// - Returns: false if the name is taken.
    static func give(_ draft: String, itsName path: String, during action: String) throws -> Bool {
        do {
            return try DurableFile.publish(draft, as: path)
        } catch {
            throw LMDBError.error(error.number, during: action, path: path)
        }
    }
}
