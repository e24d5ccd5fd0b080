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
