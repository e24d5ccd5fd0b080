import Foundation

/// What holds back all users under a root: the kill switch's sentinel file, and the record that it was pulled. For both files, only existence counts.
package struct RootKill: Sendable {
    private let paths: [String]

    /// For all the roots that stores obey.
    package init(roots: [String]) {
        paths = roots.flatMap { [RolloutFlags.sentinelPath(root: $0), KillLatch(root: $0).path] }
    }

    /// Whether any of the files exists, or cannot be checked: two `lstat` calls per root. Does not see a kill by the flag alone.
    package var isEngaged: Bool {
        paths.contains { path in
            var status = stat()
            return lstat(path, &status) == 0 || errno != ENOENT && errno != ENOTDIR
        }
    }
}
