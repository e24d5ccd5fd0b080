import CFaultGuard
import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// A page of cells that processes share, mapped from a file until the end of this object's life.
///
/// Other programs may cut the file off, remove or replace it meanwhile. What was cut off reads as zeros, and does not end the process.
final class MappedPage: Sendable {
    /// The page's size, and the file's.
    static let sizeBytes = 4_096

    typealias Cell = UnsafeMutablePointer<Atomic<UInt64>>

    nonisolated(unsafe) let cells: Cell

    /// Maps the beginning of a file that has the size of a page.
    ///
    /// - Parameter isPrivate: whether nothing that is changed here is to reach the file.
    /// - Throws: a ``Failure`` with what the system says.
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

    /// What the system refuses.
    struct Failure: Error {
        let what: String
        let number: Int32
    }

    /// Gives a file the size of a page, whose room is taken now: on a full disk a hole in a mapped file would end the process.
    ///
    /// - Returns: 0, or the system's number for why not.
    static func allocate(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        ftruncate(descriptor, off_t(sizeBytes)) == 0 ? 0 : errno
        #else
        posix_fallocate(descriptor, 0, off_t(sizeBytes))
        #endif
    }
}
