import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The device and inode of a file, which are the same for all paths to it.
struct LMDBFileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// The file at a path.
    enum Lookup: Equatable {
        case missing
        /// - Parameter isLink: whether the path's last component is a symbolic link.
        case file(LMDBFileIdentity, isLink: Bool)
        /// A folder, a device or a socket.
        case other
    }

    /// Examines a path without opening it: an `open` and `close` would drop this process's locks on the file.
    static func lookup(path: String) throws -> Lookup {
        var status = stat()
        var isLink = false
        var result = lstat(path, &status)
        if result == 0, status.st_mode & S_IFMT == S_IFLNK {
            isLink = true
            result = stat(path, &status)
        }
        guard result == 0 else {
            if errno == ENOENT { return .missing }
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .other }
        return .file(LMDBFileIdentity(status), isLink: isLink)
    }

    init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }
}

/// The location of a file, independent of its folder's path: two files at one place share a lock file.
struct LMDBFilePlace: Hashable, Sendable {
    private let folder: LMDBFileIdentity
    /// The bytes of the file's name: two names that are equal as Swift text may be different files.
    private let name: [UInt8]

    /// - Parameter path: a path whose last component is not a symbolic link.
    init(path: String) throws {
        var status = stat()
        guard stat(DurableFile.folder(of: path), &status) == 0 else {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        folder = LMDBFileIdentity(status)
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        name = Array(slash.map { bytes[bytes.index(after: $0)...] } ?? bytes[...])
    }
}

/// A fingerprint of a file from `stat`, which any change of the file changes.
struct LMDBFileState: Equatable, Sendable {
    let identity: LMDBFileIdentity
    let length: UInt64
    /// The time of the last change of the contents, in nanoseconds since 1970.
    let modified: Int64
    /// The time of the last change of the contents or the inode; programs cannot set it.
    let changed: Int64

    init(identity: LMDBFileIdentity, length: UInt64, modified: Int64, changed: Int64) {
        self.identity = identity
        self.length = length
        self.modified = modified
        self.changed = changed
    }

    /// The state of an open file; nil if the system does not provide it.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The state of the file at a path, without opening it; nil if there is none.
    init?(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        self.init(
            identity: LMDBFileIdentity(status),
            length: UInt64(clamping: status.st_size),
            modified: Self.nanoseconds(modified),
            changed: Self.nanoseconds(changed)
        )
    }

    /// Sets an open file's modification time to one that no other change of it has, and returns its state.
    ///
    /// The times that the system sets may be milliseconds apart, so that two changes look like one. This time has the clock's full
    /// resolution, so a later change is visible, however soon it follows.
    ///
    /// - Returns: nil if the file belongs to another user or the file system does not store such precise times.
    static func stamp(descriptor: Int32) -> LMDBFileState? {
        var now = timespec()
        guard clock_gettime(CLOCK_REALTIME, &now) == 0 else { return nil }
        guard futimens(descriptor, [now, now]) == 0, let state = LMDBFileState(descriptor: descriptor),
            state.modified == nanoseconds(now)
        else { return nil }
        return state
    }

    /// Whether the last change is so long ago that another one cannot have the same time, however coarse the times are.
    func isAtRest(at now: Int64) -> Bool { modified / 1_000_000_000 < now - 3 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

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
