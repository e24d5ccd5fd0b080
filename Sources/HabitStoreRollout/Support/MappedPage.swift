import CFaultGuard
import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// A page of cells shared between processes, mapped from a file as long as this object lives.
///
/// Other programs may truncate, remove or replace the file meanwhile. Truncated bytes read as zeros and do not crash the process.
final class MappedPage: Sendable {
    /// The size of the page and of the file.
    static let sizeBytes = 4_096

    typealias Cell = UnsafeMutablePointer<Atomic<UInt64>>

    nonisolated(unsafe) let cells: Cell

    /// Maps the beginning of a file that has the size of a page.
    ///
    /// - Parameter isPrivate: whether changes stay in memory instead of reaching the file.
    /// - Throws: a ``Failure`` with the system error.
    init(_ descriptor: Int32, isPrivate: Bool) throws(Failure) {
        let mapped = mmap(
            nil,
            Self.sizeBytes,
            PROT_READ | PROT_WRITE,
            isPrivate ? MAP_PRIVATE : MAP_SHARED,
            descriptor,
            0
        )
        guard let mapped, mapped != MAP_FAILED else { throw Failure(what: "cannot be mapped", number: errno) }
        let code = habitstore_guard_page(mapped)
        guard code == 0 else {
            munmap(mapped, Self.sizeBytes)
            throw Failure(what: "cannot be guarded", number: code)
        }
        cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: Self.sizeBytes / 8)
    }

    deinit {
        habitstore_unguard_page(cells)
        munmap(cells, Self.sizeBytes)
    }

    struct Failure: Error {
        let what: String
        let number: Int32
    }

    /// Gives a file the size of a page, and reserves its disk space now: on a full disk, a hole in a mapped file would crash the process.
    ///
    /// - Returns: 0, or the system's error number.
    static func allocate(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        ftruncate(descriptor, off_t(sizeBytes)) == 0 ? 0 : errno
        #else
        posix_fallocate(descriptor, 0, off_t(sizeBytes))
        #endif
    }
}
