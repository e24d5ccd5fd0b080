import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The few calls of the operating system that the wrapper needs beside liblmdb.
enum LMDBPlatform {
    /// A number that names the calling thread while it lives.
    @inline(__always)
    static var currentThread: UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        return UInt(bitPattern: pthread_self())
        #endif
    }

    /// A path for as long as the file is open: one from the root whose last name is no symbolic link.
    ///
    /// LMDB names its lock file after the path it is given: two names of one file would mean two locks. Links above the last
    /// name lead to the same folder, and following them takes a call of the system for each name.
    static func lastingPath(_ path: String, isLink: Bool) throws -> String {
        isLink || !path.hasPrefix("/") ? try canonicalPath(path) : path
    }

    /// The path with every symbolic link followed.
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

    /// Sleeps; a signal may end it early, which does no harm where it is used.
    static func sleep(milliseconds: Int) {
        guard milliseconds > 0 else { return }
        usleep(UInt32(clamping: milliseconds * 1_000))
    }

    /// As ``sleep(milliseconds:)``.
    static func sleep(microseconds: UInt32) { usleep(microseconds) }
}
