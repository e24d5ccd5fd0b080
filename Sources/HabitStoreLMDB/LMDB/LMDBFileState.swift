import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
