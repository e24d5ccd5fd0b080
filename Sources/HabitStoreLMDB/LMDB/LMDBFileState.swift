import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the system says of a file: whoever changes the file changes this.
struct LMDBFileState: Equatable, Sendable {
    let identity: LMDBFileIdentity
    let length: UInt64
    /// The last change of the contents, in nanoseconds since 1970.
    let modified: Int64
    /// The last change of the contents or of what the system keeps about the file; no program can set it.
    let changed: Int64

    init(identity: LMDBFileIdentity, length: UInt64, modified: Int64, changed: Int64) {
        self.identity = identity
        self.length = length
        self.modified = modified
        self.changed = changed
    }

    /// The state of an open file; nil when the system does not tell.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The state of the file at a path, which is not opened; nil when there is none.
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

    /// Gives an open file a time of modification that no other change of it has, and gives its state.
    ///
    /// What the system writes down by itself may be as coarse as some milliseconds, within which two changes look like
    /// one. This time is as fine as the clock, so a change behind it shows, however soon it comes.
    ///
    /// - Returns: nil where the file belongs to another user, or where the file system keeps no such fine times.
    static func stamp(descriptor: Int32) -> LMDBFileState? {
        var now = timespec()
        guard clock_gettime(CLOCK_REALTIME, &now) == 0 else { return nil }
        guard futimens(descriptor, [now, now]) == 0, let state = LMDBFileState(descriptor: descriptor),
            state.modified == nanoseconds(now)
        else { return nil }
        return state
    }

    /// Whether the last change is so long ago that another one cannot have the same time, as coarse as times may be.
    func isAtRest(at now: Int64) -> Bool { modified / 1_000_000_000 < now - 3 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
