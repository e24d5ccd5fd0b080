import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The few system calls that the wrapper needs in addition to liblmdb.
enum LMDBPlatform {
    /// A number that identifies the calling thread during its lifetime.
    @inline(__always)
    static var currentThread: UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        return UInt(bitPattern: pthread_self())
        #endif
    }

    /// A path that stays valid while the file is open: absolute, and its last component is not a symbolic link.
    ///
    /// LMDB names its lock file after the path that it is given: two names of one file would mean two locks. Links in earlier
    /// components lead to the same folder, and resolving them takes a system call for each component.
    static func lastingPath(_ path: String, isLink: Bool) throws -> String {
        isLink || !path.hasPrefix("/") ? try canonicalPath(path) : path
    }

    /// The path with all symbolic links resolved.
    static func canonicalPath(_ path: String) throws -> String {
        guard let resolved = realpath(path, nil) else {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Makes a created, renamed or removed name in the file's folder survive a power cut.
    static func synchronizeFolder(of path: String) throws {
        do {
            try DurableFile.synchronizeFolder(of: path)
        } catch {
            throw LMDBError.error(error.number, during: "syncing the folder", path: path)
        }
    }

    /// Sleeps. A signal may end it early, which does no harm for its callers.
    static func sleep(milliseconds: Int) {
        guard milliseconds > 0 else { return }
        usleep(UInt32(clamping: milliseconds * 1_000))
    }

    /// Like ``sleep(milliseconds:)``.
    static func sleep(microseconds: UInt32) { usleep(microseconds) }
}
