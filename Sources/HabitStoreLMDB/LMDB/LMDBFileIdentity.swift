#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What makes two paths the same file: the device and the inode.
struct LMDBFileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// What stands at a path.
    enum Lookup: Equatable {
        case missing
        /// - Parameter isLink: whether the path's last name is a symbolic link to it.
        case file(LMDBFileIdentity, isLink: Bool)
        /// A folder, a device, a socket.
        case other
    }

    /// Looks without opening: an `open` and `close` would drop the locks that this process holds on the file.
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
