import DurableFiles
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
/// liblmdb's own copy takes the writer's lock for its first bytes, so it would wait for a frozen process. A snapshot's meta page
/// remains until the second commit after it, and nothing else is needed from the start of the file.
enum LMDBSnapshotCopy {
    private static let chunkBytes = 1 << 20
    private static let pageNumberOffset = 0
    private static let transactionOffset = 144

    /// Copies the file in the state of a snapshot.
    ///
    /// - Parameters:
    ///   - descriptor: the file to overwrite.
    ///   - transaction: the snapshot. The caller makes sure that its pages are not reused meanwhile.
    /// - Returns: false if the snapshot's meta page is gone; nothing was written then.
    static func write(_ source: LMDBPageSource, transaction: UInt64, to descriptor: Int32) throws -> Bool {
        guard let (metas, meta) = try metas(source, transaction) else { return false }
        // A previous attempt may have left data.
        guard ftruncate(descriptor, 0) == 0 else {
            throw LMDBError.error(errno, during: "copying the file", path: source.path)
        }
        try metas.withUnsafeBytes { try write($0, to: descriptor, at: 0, path: source.path) }
        // Pages that are free or beyond the last one do not matter, and the end may be missing if it is free.
        let end = (meta.lastPage + 1) * UInt64(meta.pageSize)
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

    /// Both meta pages in their state just after a snapshot's commit. If the other one already belongs to a later commit, it is
    /// rebuilt as that of the preceding snapshot: nothing reads it as long as the newer one is intact.
    private static func metas(_ source: LMDBPageSource, _ transaction: UInt64) throws -> ([UInt8], LMDBMeta)? {
        let first = meta(try source.bytes(at: 0, length: LMDBFileFormat.metaLength), index: 0)
        guard first.hasMagic, first.hasPossiblePageSize else { return nil }
        let slot = transaction & 1
        func page(_ index: UInt64) throws -> [UInt8] {
            try source.bytes(at: index * UInt64(first.pageSize), length: first.pageSize)
        }
        let own = try page(slot)
        let found = meta(own, index: slot)
        guard found.transaction == transaction, found.contradiction == nil, found.treeContradiction == nil,
            try page(slot) == own
        else { return nil }
        var other = try page(1 - slot)
        let before = meta(other, index: 1 - slot)
        let isBefore = before.contradiction == nil && before.transaction == (transaction == 0 ? 0 : transaction - 1)
        if try !isBefore || page(1 - slot) != other {
            other = own
            other.withUnsafeMutableBytes { bytes in
                bytes.storeBytes(of: (1 - slot).littleEndian, toByteOffset: pageNumberOffset, as: UInt64.self)
                bytes.storeBytes(of: (transaction - 1).littleEndian, toByteOffset: transactionOffset, as: UInt64.self)
            }
        }
        return (slot == 0 ? own + other : other + own, found)
    }

    private static func meta(_ bytes: [UInt8], index: UInt64) -> LMDBMeta {
        bytes.withUnsafeBytes { LMDBMeta(LMDBBytes(buffer: $0), index: index) }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        at offset: UInt64,
        path: String
    ) throws {
        let number = OpenFile.write(bytes, to: descriptor, at: off_t(offset))
        guard number == 0 else { throw LMDBError.error(number, during: "copying the file", path: path) }
    }
}
