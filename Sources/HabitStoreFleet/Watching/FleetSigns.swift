import Foundation
import HabitStoreRollout

/// Detects changes of a fleet: in its files, the kill switch's files, the index's change counter, and whether a run is at work.
struct FleetSigns: Hashable {
    /// A file's identity and modification, from `lstat`.
    struct File: Hashable {
        private let device: UInt64
        private let number: UInt64
        private let size: Int64
        private let seconds: Int64
        private let nanoseconds: Int64

        init(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else {
                (device, number, size, seconds, nanoseconds) = (0, 0, -1, 0, 0)
                return
            }
            #if canImport(Darwin)
            let changed = status.st_mtimespec
            #else
            let changed = status.st_mtim
            #endif
            (device, number, size) = (
                UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino), Int64(status.st_size)
            )
            (seconds, nanoseconds) = (Int64(changed.tv_sec), Int64(changed.tv_nsec))
        }

        /// Whether it is the same file, even if it was written to.
        func isSameFile(as other: File) -> Bool { size >= 0 && device == other.device && number == other.number }
    }

    private let files: [File]
    private let version: Int
    /// Whether a run is at work.
    let isRunning: Bool

    /// - Parameters:
    ///   - flags: the flag file; nil for none.
    ///   - version: the index's change counter.
    init(_ folder: FleetFolder, _ place: StoreRoot, flags: String?, version: Int, isRunning: Bool) {
        let paths =
            [
                folder.ledger, folder.members, folder.halted, folder.paused, folder.plan + ".json",
                folder.plan + ".yaml", folder.hooks, DifferenceMarks(root: place.path).path,
            ]
            + RootSwitches.paths(place, flags: flags)
        // A replaced database starts its counter again.
        files = (paths + [folder.index]).map(File.init)
        (self.version, self.isRunning) = (version, isRunning)
    }
}
