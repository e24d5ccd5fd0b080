import Foundation

/// What keeps everybody under a root back: the kill switch's sentinel file, and the memory that it was pulled. Each is a file whose
/// existence is what it says.
package struct RootKill: Sendable {
    private let paths: [String]

    /// Of all the roots that stores obey.
    package init(roots: [String]) {
        paths = roots.flatMap { [RolloutFlags.sentinelPath(root: $0), KillLatch(root: $0).path] }
    }

    /// Whether any of them is there, or cannot be looked for: two looks into a folder. A kill by the flag alone does not show in it.
    package var isEngaged: Bool {
        paths.contains { path in
            var status = stat()
            return lstat(path, &status) == 0 || errno != ENOENT && errno != ENOTDIR
        }
    }
}
