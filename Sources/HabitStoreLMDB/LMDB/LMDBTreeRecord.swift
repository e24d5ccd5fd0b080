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
