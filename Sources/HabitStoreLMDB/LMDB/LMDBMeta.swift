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
