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

    /// The folder that holds the file.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes a created, renamed or removed name in the file's folder survive a power cut.
    static func synchronizeFolder(of path: String) throws {
        let descriptor = open(folder(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError.error(errno, during: "opening the folder", path: path) }
        defer { close(descriptor) }
        // Some file systems cannot sync a folder and say so with EINVAL: there is nothing more to do then.
        if fsync(descriptor) != 0, errno != EINVAL {
            throw LMDBError.error(errno, during: "syncing the folder", path: path)
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
