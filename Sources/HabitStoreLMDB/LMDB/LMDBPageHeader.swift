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
