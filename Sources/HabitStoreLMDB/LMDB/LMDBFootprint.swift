import CLMDB
import Foundation
import Synchronization

/// What many environments take of a process's memory.
///
/// For each that may be written, LMDB allocates lists of 1 and 2 MiB, which small transactions hardly touch. glibc gives such
/// blocks a mapping of their own, whose pages take no memory before they are touched; but as soon as one was freed it takes
/// them from its heap, and fills the larger one with zeros there: five times the memory that a small user's store takes
/// otherwise, and a longer opening.
enum LMDBFootprint {
    /// With how many environments at once that begins to matter.
    private static let many = 16
    private static let count = Atomic<Int>(0)

    static func opened() {
        guard count.add(1, ordering: .relaxed).newValue == many, !isTuned else { return }
        clmdb_map_large_blocks()
    }

    static func closed() { count.subtract(1, ordering: .relaxed) }

    /// Whether whoever runs the process has set the threshold.
    private static var isTuned: Bool {
        let environment = ProcessInfo.processInfo.environment
        return environment["MALLOC_MMAP_THRESHOLD_"] != nil
            || environment["GLIBC_TUNABLES"]?.contains("mmap_threshold") == true
    }
}
