import Foundation

/// What makes two looks at a place see the same store: for a file the device and the inode, for others what their engine
/// has in its place.
@_spi(Engines) public struct StoreIdentity: Sendable, Hashable {
    private let first: UInt64
    private let second: UInt64

    /// An identity of an engine's own; no two stores at one place have the same.
    public init(_ first: UInt64, _ second: UInt64 = 0) { (self.first, self.second) = (first, second) }

    /// The file at a path; nil where there is none.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }
}
