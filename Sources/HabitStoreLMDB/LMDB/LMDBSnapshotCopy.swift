import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Copies the bytes of one snapshot of a file.
///
/// liblmdb's own copy takes the writer's lock for its first bytes, and so would wait for a process that is frozen. Reading both
/// meta pages until they stand still needs no lock.
enum LMDBSnapshotCopy {
    private static let chunkBytes = 1 << 20

    /// Copies the file as its newest snapshot has it.
    ///
    /// - Parameters:
    ///   - descriptor: of a file that is overwritten.
    ///   - transaction: the snapshot, whose pages somebody sees to it that nobody uses again meanwhile.
    /// - Returns: false, and nothing was written, when another snapshot is the newest one by now.
    static func write(_ source: LMDBPageSource, transaction: UInt64, to descriptor: Int32) throws -> Bool {
        let header = try LMDBFileInspector.soundHeader(source)
        let metas = try source.bytes(at: 0, length: header.pageSize * Int(LMDBFileFormat.metaPageCount))
        guard header.current.transaction == transaction, try LMDBFileInspector.soundHeader(source).metas == header.metas
        else {
            return false
        }
        // What an attempt before this one may have left.
        guard ftruncate(descriptor, 0) == 0 else {
            throw LMDBError.error(errno, during: "copying the file", path: source.path)
        }
        try metas.withUnsafeBytes { try write($0, to: descriptor, at: 0, path: source.path) }
        // What is beyond the last page, or free, is nobody's; the end may be missing where it is free.
        let end = (header.current.lastPage + 1) * UInt64(header.pageSize)
        var offset = UInt64(metas.count)
        try withUnsafeTemporaryAllocation(byteCount: chunkBytes, alignment: 16) { buffer in
            while offset < end {
                let wanted = Int(min(UInt64(buffer.count), end - offset))
                let count = try source.read(
                    at: offset,
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                )
                guard count > 0 else { return }
                let read = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                try write(read, to: descriptor, at: offset, path: source.path)
                offset += UInt64(count)
            }
        }
        return true
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        at offset: UInt64,
        path: String
    ) throws {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
            if count < 0 {
                if errno == EINTR { continue }
                throw LMDBError.error(errno, during: "copying the file", path: path)
            }
            written += count
        }
    }
}
