import CLMDB
import Foundation
import Synchronization

/// The memory that many environments take in a process.
///
/// For each environment that may be written, LMDB allocates lists of 1 and 2 MiB, which small transactions hardly use. glibc gives
/// such blocks their own mapping, whose pages take no memory until they are touched. But as soon as one was freed, it allocates
/// them from its heap and zeroes the larger one there: five times the memory that a small user's store takes otherwise, and a
/// slower opening.
enum LMDBFootprint {
    /// The number of open environments from which this matters.
    private static let many = 16
    private static let count = Atomic<Int>(0)

    static func opened() {
        guard count.add(1, ordering: .relaxed).newValue == many, !isTuned else { return }
        clmdb_map_large_blocks()
    }

    static func closed() { count.subtract(1, ordering: .relaxed) }

    /// Whether the environment of the process already sets the threshold.
    private static var isTuned: Bool {
        let environment = ProcessInfo.processInfo.environment
        return environment["MALLOC_MMAP_THRESHOLD_"] != nil
            || environment["GLIBC_TUNABLES"]?.contains("mmap_threshold") == true
    }
}
