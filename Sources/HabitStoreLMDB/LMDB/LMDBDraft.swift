import DurableFiles
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

    /// Gives a draft its name.
    ///
    /// - Returns: false when something has the name already.
    static func give(_ draft: String, itsName path: String, during action: String) throws -> Bool {
        do {
            return try DurableFile.publish(draft, as: path)
        } catch {
            throw LMDBError.error(error.number, during: action, path: path)
        }
    }
}
