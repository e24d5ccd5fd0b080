import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file mapped for reading, separately from liblmdb's own map.
///
/// liblmdb writes with `pwrite` and relies on the system to show that in every map of the file immediately.
final class LMDBFileMap: Sendable {
    private static let smallestLength = 1 << 20

    nonisolated(unsafe) let start: UnsafeRawPointer
    /// The address space that the map takes. It may extend beyond the end of the file, where nothing may be read.
    let length: Int
    /// The file's path, for errors.
    let path: String

    /// Maps an open file, with room for it to double.
    init(descriptor: Int32, fileLength: UInt64, path: String) throws {
        guard let needed = Int(exactly: fileLength), needed <= Int.max / 4 else {
            throw LMDBError.error(ENOMEM, during: "mapping the file", path: path)
        }
        var length = Self.smallestLength
        while length <= needed { length *= 2 }
        let mapped = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0)
        guard let mapped, mapped != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw LMDBError.error(errno, during: "mapping the file", path: path)
        }
        start = UnsafeRawPointer(mapped)
        self.length = length
        self.path = path
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: start), length) }
}
