/// The layout of LMDB 0.9's data file on 64-bit little-endian systems, from `mdb.c`.
///
/// ```
/// page     0 pgno u64   8 pad u16  10 flags u16  12 lower u16  14 upper u16   16 offsets of the nodes, u16 each
/// overflow 0 pgno u64   8 pad u16  10 flags u16  12 pages u32                 16 the value, over all its pages
/// node     0 size low u16  2 size high u16  4 flags u16  6 key length u16     8 key, then data
///          (branch: the first three are the child's page number, 48 bits)
/// meta    16 magic u32  20 version u32  24 address u64  32 map size u64  40 free tree  88 main tree
///        136 last page u64  144 transaction u64
/// tree     0 pad u32 (free tree: page size)  4 flags u16  6 depth u16  8 branch pages u64  16 leaf pages u64
///         24 overflow pages u64  32 entries u64  40 root u64
/// ```
enum LMDBFileFormat {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let version: UInt32 = 1
    /// The offset of the magic number in LMDB 1.0, before its version: its page headers are longer.
    static let laterMagicOffset = 24
    static let pageHeaderLength = 16
    static let nodeHeaderLength = 8
    static let treeLength = 48
    static let metaLength = 152
    static let metaPageCount: UInt64 = 2
    static let pageSizes = 512...32_768
    /// The maximum depth that liblmdb's cursor supports.
    static let maximumDepth: UInt16 = 32
    /// The root of an empty tree.
    static let noPage = UInt64.max
    /// No system maps more than 47 bits of addresses.
    static let maximumFileBytes: UInt64 = 1 << 47

    enum PageFlag {
        static let branch: UInt16 = 0x01
        static let leaf: UInt16 = 0x02
        static let overflow: UInt16 = 0x04
        static let meta: UInt16 = 0x08
    }

    enum NodeFlag {
        static let overflow: UInt16 = 0x01
        static let tree: UInt16 = 0x02
        static let duplicates: UInt16 = 0x04
    }

    enum TreeFlag {
        static let integerKeys: UInt16 = 0x08
        /// Flags of the environment, stored with the free tree's: fixed map and no subdirectory.
        static let environment: UInt16 = 0x4001
    }

    /// The bytes that a record takes in a leaf, including its entry in the page's list of offsets. A value so large that fewer than
    /// two records would fit into a page has its own pages.
    static func leafBytes(keyLength: Int, valueLength: Int, pageSizeBytes: Int) -> Int {
        let longestNode = ((pageSizeBytes - pageHeaderLength) / 2 & ~1) - 2
        let node = nodeHeaderLength + keyLength + valueLength
        let kept = node > longestNode ? nodeHeaderLength + keyLength + MemoryLayout<UInt64>.size : node
        return ((kept + 1) & ~1) + 2
    }

    /// Whether files on this system have the layout above.
    static var isNative: Bool {
        MemoryLayout<UInt>.size == 8 && UInt16(littleEndian: 1) == 1
    }
}

/// One of the two meta pages, from which snapshots start.
struct LMDBMeta: Equatable, Sendable {
    static let mainRootOffset = 128
    static let lastPageOffset = 136
    static let transactionOffset = 144

    let index: UInt64
    let pageNumber: UInt64
    let pageFlags: UInt16
    let magic: UInt32
    let version: UInt32
    let mapSize: UInt64
    let freeTree: LMDBTreeRecord
    let mainTree: LMDBTreeRecord
    let lastPage: UInt64
    let transaction: UInt64

    /// The page size in this meta page.
    var pageSize: Int { Int(freeTree.pad) }

    init(_ bytes: LMDBBytes, index: UInt64) {
        self.index = index
        pageNumber = bytes.u64(0)
        pageFlags = bytes.u16(10)
        magic = bytes.u32(16)
        version = bytes.u32(20)
        mapSize = bytes.u64(32)
        freeTree = LMDBTreeRecord(bytes, at: 40)
        mainTree = LMDBTreeRecord(bytes, at: 88)
        lastPage = bytes.u64(Self.lastPageOffset)
        transaction = bytes.u64(Self.transactionOffset)
    }

    var hasMagic: Bool { magic == LMDBFileFormat.magic }

    var hasPossiblePageSize: Bool {
        LMDBFileFormat.pageSizes.contains(pageSize) && pageSize & (pageSize - 1) == 0
    }

    /// A contradiction in the page, or nil. Does not check its trees.
    var contradiction: String? {
        guard pageNumber == index, pageFlags == LMDBFileFormat.PageFlag.meta else { return "is not a meta page" }
        guard hasPossiblePageSize else { return "has an impossible page size" }
        let known = LMDBFileFormat.TreeFlag.environment | LMDBFileFormat.TreeFlag.integerKeys
        guard freeTree.flags & ~known == 0, freeTree.flags & LMDBFileFormat.TreeFlag.integerKeys != 0 else {
            return "has impossible flags"
        }
        let limit = LMDBFileFormat.maximumFileBytes
        guard lastPage >= 1, lastPage < limit / UInt64(pageSize), mapSize <= limit else {
            return "has an impossible size"
        }
        // Transaction N writes page N % 2; both are 0 in a new file.
        guard transaction == 0 || transaction & 1 == index else { return "has an impossible transaction number" }
        return nil
    }

    /// A contradiction in the page's trees, or nil.
    ///
    /// Only for the newer page: after a failed write of a meta page, liblmdb restores its number and its last page, but leaves the
    /// trees of the failed transaction.
    var treeContradiction: String? {
        if let reason = freeTree.contradiction(lastPage: lastPage) { return "has a free list that \(reason)" }
        if let reason = mainTree.contradiction(lastPage: lastPage) { return "has a main database that \(reason)" }
        return nil
    }
}

/// The file's record of one of its trees.
struct LMDBTreeRecord: Equatable, Sendable {
    let pad: UInt32
    let flags: UInt16
    let depth: UInt16
    let branchPages: UInt64
    let leafPages: UInt64
    let overflowPages: UInt64
    let entries: UInt64
    let root: UInt64

    init(_ bytes: LMDBBytes, at offset: Int) {
        pad = bytes.u32(offset)
        flags = bytes.u16(offset + 4)
        depth = bytes.u16(offset + 6)
        branchPages = bytes.u64(offset + 8)
        leafPages = bytes.u64(offset + 16)
        overflowPages = bytes.u64(offset + 24)
        entries = bytes.u64(offset + 32)
        root = bytes.u64(offset + 40)
    }

    /// The number of pages in the tree.
    var pages: UInt64 { branchPages &+ leafPages &+ overflowPages }

    var isEmpty: Bool { root == LMDBFileFormat.noPage }

    /// A contradiction in the record, or nil. Does not check the pages.
    func contradiction(lastPage: UInt64) -> String? {
        if isEmpty {
            let isClean = depth == 0 && branchPages == 0 && leafPages == 0 && overflowPages == 0 && entries == 0
            return isClean ? nil : "is empty but counts pages or records"
        }
        guard root >= LMDBFileFormat.metaPageCount, root <= lastPage else { return "has its root outside of the file" }
        guard depth >= 1, depth <= LMDBFileFormat.maximumDepth else { return "has an impossible depth" }
        guard branchPages <= lastPage, leafPages <= lastPage, overflowPages <= lastPage else {
            return "counts more pages than the file has"
        }
        return nil
    }
}

/// The header of a page of a tree.
struct LMDBPageHeader {
    let pageNumber: UInt64
    let flags: UInt16
    let lower: Int
    let upper: Int
    private let length: Int

    init(_ bytes: LMDBBytes) {
        pageNumber = bytes.u64(0)
        flags = bytes.u16(10)
        lower = Int(bytes.u16(12))
        upper = Int(bytes.u16(14))
        length = bytes.count
    }

    var nodeCount: Int { (lower - LMDBFileFormat.pageHeaderLength) / 2 }

    /// A contradiction in the header, or nil.
    func contradiction(pageNumber expected: UInt64, isLeaf: Bool, isFreeTree: Bool, pageSize: Int) -> String? {
        guard length == pageSize else { return "lies beyond the end of the file" }
        guard pageNumber == expected else { return "carries the number of another page" }
        guard flags == (isLeaf ? LMDBFileFormat.PageFlag.leaf : LMDBFileFormat.PageFlag.branch) else {
            return "is of the wrong type"
        }
        guard lower >= LMDBFileFormat.pageHeaderLength, lower & 1 == 0, lower <= upper, upper <= pageSize else {
            return "has impossible bounds"
        }
        // liblmdb aborts the process at a branch with fewer than two children, except in the free list.
        guard nodeCount >= (isLeaf || isFreeTree ? 1 : 2) else { return "has too few records" }
        return nil
    }
}

/// Untrusted bytes of a file: reading outside them gives zero and never traps.
struct LMDBBytes {
    let buffer: UnsafeRawBufferPointer

    var count: Int { buffer.count }

    @inline(__always)
    func load<Integer: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Integer.Type) -> Integer {
        guard offset >= 0, offset <= buffer.count - MemoryLayout<Integer>.size else { return 0 }
        return Integer(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: type))
    }

    @inline(__always)
    func u16(_ offset: Int) -> UInt16 { load(offset, as: UInt16.self) }

    @inline(__always)
    func u32(_ offset: Int) -> UInt32 { load(offset, as: UInt32.self) }

    @inline(__always)
    func u64(_ offset: Int) -> UInt64 { load(offset, as: UInt64.self) }

    /// The bytes of a range; empty if it is not inside.
    @inline(__always)
    func slice(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
        guard offset >= 0, length >= 0, offset <= buffer.count, length <= buffer.count - offset else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + length])
    }
}
