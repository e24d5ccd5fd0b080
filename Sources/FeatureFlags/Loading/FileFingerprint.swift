import Foundation

/// What `stat` says of the file at the end of a path; two that differ are two states of it.
struct FileFingerprint: Equatable {
    private let error: Int32
    private var numbers: [Int] = []
    private var changedAt = 0

    /// How much later than the last change the present has to be, in seconds, for another change to show: as coarse as the clocks of
    /// file systems are.
    private static let clockSeconds = 2

    /// - Parameter followsLinks: whether the file at the end of links is meant, or the link itself.
    init(_ path: String, followsLinks: Bool) {
        var status = stat()
        let result = followsLinks ? stat(path, &status) : lstat(path, &status)
        self.init(status, error: result == 0 ? 0 : errno)
    }

    /// The state of an open file.
    init(descriptor: Int32) {
        var status = stat()
        let result = fstat(descriptor, &status)
        self.init(status, error: result == 0 ? 0 : errno)
    }

    private init(_ status: stat, error: Int32) {
        self.error = error
        guard error == 0 else { return }
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        numbers = [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            Int(status.st_mode), modified.tv_sec, modified.tv_nsec, changed.tv_sec, changed.tv_nsec,
        ]
        changedAt = max(modified.tv_sec, changed.tv_sec)
    }

    /// Whether nothing is at the path.
    var isMissing: Bool { error == ENOENT || error == ENOTDIR }

    /// Whether whatever happens to the file from now on shows in another fingerprint. A file that was changed this moment may be
    /// changed again within the same tick of the file system's clock.
    var showsChanges: Bool { error != 0 || changedAt + Self.clockSeconds < time(nil) }
}
