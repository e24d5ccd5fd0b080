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
