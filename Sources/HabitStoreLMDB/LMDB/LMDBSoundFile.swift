import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file next to a store with its ``LMDBSoundMark``, mapped for writing.
///
/// The map costs neither a descriptor nor a system call for each commit, and what was written survives the death of the process.
/// Two processes that write at the same time leave a mark with a wrong checksum, which counts as none.
final class LMDBSoundFile {
    private static let length = 4_096
    private static let pendingOffset = 96

    private let map: UnsafeMutableRawPointer

    /// The file for the store at a canonical path.
    static func path(ofStore path: String) -> String { path + "-sound" }

    /// Reads a store's mark without mapping the file; nil if there is no valid one.
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

    /// Maps the file; nil if it is missing and should not be created, or if that fails.
    init?(store: String, isMaking: Bool) {
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | (isMaking ? O_CREAT : 0)
        guard let file = try? OpenFile(Self.path(ofStore: store), flags), let status = try? file.status(),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        if status.st_size < Self.length {
            // Written rather than just extended: a page without space on the disk could not be mapped for writing.
            let zeros = [UInt8](repeating: 0, count: Self.length)
            guard (try? file.write(zeros, at: 0)) != nil else { return nil }
        }
        guard let map = mmap(nil, Self.length, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0),
            map != UnsafeMutableRawPointer(bitPattern: -1)
        else { return nil }
        self.map = map
    }

    deinit { munmap(map, Self.length) }

    /// The mark; nil if there is no valid one.
    var mark: LMDBSoundMark? {
        get { LMDBSoundMark(UnsafeRawBufferPointer(start: map, count: LMDBSoundMark.length)) }
        set { newValue?.withBytes { UnsafeMutableRawBufferPointer(start: map, count: $0.count).copyMemory(from: $0) } }
    }

    /// The number of the write transaction in progress, 0 for none: until it ends, the file's state may change.
    var pending: UInt64 {
        get { map.load(fromByteOffset: Self.pendingOffset, as: UInt64.self) }
        set { map.storeBytes(of: newValue, toByteOffset: Self.pendingOffset, as: UInt64.self) }
    }
}
