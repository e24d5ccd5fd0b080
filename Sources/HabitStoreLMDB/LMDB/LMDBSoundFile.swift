import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file beside a store that holds its ``LMDBSoundMark``, mapped for writing.
///
/// Mapped, it costs no descriptor and no call of the system for a commit, and what was written is there when the process
/// dies. Two processes that write at once leave a mark whose checksum is wrong, which is as good as none.
final class LMDBSoundFile {
    private static let length = 4_096
    private static let pendingOffset = 96

    private let map: UnsafeMutableRawPointer

    /// The file of the store at a canonical path.
    static func path(ofStore path: String) -> String { path + "-sound" }

    /// Reads a store's mark, without mapping anything; nil when there is none that is whole.
    static func read(store: String) -> (mark: LMDBSoundMark?, isPending: Bool) {
        guard let file = try? OpenFile(path(ofStore: store), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            return (nil, false)
        }
        let wanted = pendingOffset + 8
        return withUnsafeTemporaryAllocation(byteCount: wanted, alignment: 8) { buffer in
            guard (try? file.read(into: buffer, at: 0)) == wanted else { return (nil, false) }
            let bytes = UnsafeRawBufferPointer(buffer)
            return (LMDBSoundMark(bytes), bytes.load(fromByteOffset: pendingOffset, as: UInt64.self) != 0)
        }
    }

    /// Maps the file; nil where there is none and it is not to be made, or where that cannot be done.
    init?(store: String, isMaking: Bool) {
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | (isMaking ? O_CREAT : 0)
        guard let file = try? OpenFile(Self.path(ofStore: store), flags), let status = try? file.status(),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        if status.st_size < Self.length {
            // Written and not only made longer: a page without space on the disk could not be mapped for writing.
            let zeros = [UInt8](repeating: 0, count: Self.length)
            guard (try? file.write(zeros, at: 0)) != nil else { return nil }
        }
        guard let map = mmap(nil, Self.length, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0),
            map != UnsafeMutableRawPointer(bitPattern: -1)
        else { return nil }
        self.map = map
    }

    deinit { munmap(map, Self.length) }

    /// The mark; nil when there is none that is whole.
    var mark: LMDBSoundMark? {
        get { LMDBSoundMark(UnsafeRawBufferPointer(start: map, count: LMDBSoundMark.length)) }
        set { newValue?.withBytes { UnsafeMutableRawBufferPointer(start: map, count: $0.count).copyMemory(from: $0) } }
    }

    /// The transaction that is being written, 0 for none: the file's state may change until it ends.
    var pending: UInt64 {
        get { map.load(fromByteOffset: Self.pendingOffset, as: UInt64.self) }
        set { map.storeBytes(of: newValue, toByteOffset: Self.pendingOffset, as: UInt64.self) }
    }
}
