import Foundation

/// A `stat` fingerprint of a file's state.
struct FileStamp: Equatable {
    let size: Int64
    let modified: timespec
    let inode: UInt64

    /// Nil if there is no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
        modified = status.st_mtimespec
        #else
        modified = status.st_mtim
        #endif
    }

    /// Seconds since the last write, as far as the clock can be trusted.
    var ageSeconds: Double {
        Date().timeIntervalSince1970 - Double(modified.tv_sec) - Double(modified.tv_nsec) / 1e9
    }

    static func == (left: FileStamp, right: FileStamp) -> Bool {
        left.size == right.size && left.inode == right.inode && left.modified.tv_sec == right.modified.tv_sec
            && left.modified.tv_nsec == right.modified.tv_nsec
    }
}
