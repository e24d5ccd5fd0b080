import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The pages of one snapshot, read in place from the file's map.
///
/// Their contents are not trusted: a page's header is checked whenever the page is entered, and a node's bounds whenever the node
/// is read, so damage becomes an error that names the page, never an access outside the file.
struct LMDBMappedPages {
    /// A database of the snapshot.
    struct Tree {
        let root: UInt64
        /// The number of levels; 0 for a database without records.
        let depth: Int
        let entries: Int

        static let empty = Tree(root: LMDBFileFormat.noPage, depth: 0, entries: 0)
    }

    /// A branch or a leaf with a checked header.
    struct Page {
        let start: UnsafeRawPointer
        /// The offset of the first node.
        let upper: Int
        let count: Int

    }

    /// A node whose header and key are inside its page.
    struct Node {
        let page: UnsafeRawPointer
        let offset: Int
        let keyLength: Int

        @inline(__always)
        var key: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: page + (offset &+ LMDBFileFormat.nodeHeaderLength), count: keyLength)
        }

        /// The page that a branch's node leads to.
        @inline(__always)
        var child: UInt64 { page.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0xFFFF_FFFF_FFFF }

        @inline(__always)
        var flags: UInt16 { page.loadUnaligned(fromByteOffset: offset &+ 4, as: UInt16.self) }

        @inline(__always)
        var valueLength: Int { Int(page.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }

        @inline(__always)
        var valueOffset: Int { offset &+ LMDBFileFormat.nodeHeaderLength &+ keyLength }
    }

    private let base: UnsafeRawPointer
    private let pageSize: Int
    private let pageShift: Int
    /// The number of pages that both the snapshot and the file have.
    private let count: UInt64
    /// Provides the path for errors. Unretained, because reference counting would cost more than entering a page:
    /// ``LMDBSnapshotPages`` keeps the map alive.
    private unowned(unsafe) let map: LMDBFileMap

    init(_ map: LMDBFileMap, pageSize: Int, count: UInt64) {
        self.map = map
        base = map.start
        self.pageSize = pageSize
        pageShift = pageSize.trailingZeroBitCount
        self.count = count
    }

    // MARK: Pages

    @inline(__always)
    func leaf(_ number: UInt64) throws -> Page { try page(number, LMDBFileFormat.PageFlag.leaf, fewest: 1) }

    @inline(__always)
    func branch(_ number: UInt64) throws -> Page { try page(number, LMDBFileFormat.PageFlag.branch, fewest: 2) }

    @inline(__always)
    private func page(_ number: UInt64, _ flag: UInt16, fewest: Int) throws -> Page {
        guard number >= LMDBFileFormat.metaPageCount, number < count else { throw outside(number) }
        let start = base + (Int(truncatingIfNeeded: number) &<< pageShift)
        let fields = start.load(fromByteOffset: 8, as: UInt64.self)
        let lower = Int(truncatingIfNeeded: fields >> 32 & 0xFFFF)
        let upper = Int(truncatingIfNeeded: fields >> 48)
        let nodes = (lower &- LMDBFileFormat.pageHeaderLength) >> 1
        guard start.load(as: UInt64.self) == number, UInt16(truncatingIfNeeded: fields >> 16) == flag,
            nodes >= fewest, lower <= upper, upper <= pageSize
        else { throw damaged(number, flag) }
        return Page(start: start, upper: upper, count: nodes)
    }

    // MARK: Nodes

    /// - Parameter index: less than the page's count.
    @inline(__always)
    func node(_ page: Page, _ index: Int) throws -> Node {
        let place = LMDBFileFormat.pageHeaderLength &+ index &* 2
        let offset = Int(page.start.load(fromByteOffset: place, as: UInt16.self))
        guard offset >= page.upper, offset &+ LMDBFileFormat.nodeHeaderLength <= pageSize else { throw badNode(page) }
        let keyLength = Int(page.start.loadUnaligned(fromByteOffset: offset &+ 6, as: UInt16.self))
        let node = Node(page: page.start, offset: offset, keyLength: keyLength)
        guard node.valueOffset <= pageSize else { throw badNode(page) }
        return node
    }

    @inline(__always)
    func record(_ page: Page, _ index: Int) throws -> LMDBRecord {
        let node = try node(page, index)
        return LMDBRecord(key: node.key, value: try value(node, page))
    }

    /// The value of a leaf's node.
    @inline(__always)
    func value(_ node: Node, _ page: Page) throws -> UnsafeRawBufferPointer {
        guard node.flags == 0 else { return try overflowValue(node, page) }
        guard node.valueOffset &+ node.valueLength <= pageSize else { throw badNode(page) }
        return UnsafeRawBufferPointer(start: page.start + node.valueOffset, count: node.valueLength)
    }

    /// A value in overflow pages.
    private func overflowValue(_ node: Node, _ page: Page) throws -> UnsafeRawBufferPointer {
        guard node.flags == LMDBFileFormat.NodeFlag.overflow else {
            throw damage(number(page), "has a record of a kind that cannot be there")
        }
        guard node.valueOffset &+ 8 <= pageSize else { throw badNode(page) }
        let first = page.start.loadUnaligned(fromByteOffset: node.valueOffset, as: UInt64.self)
        guard first >= LMDBFileFormat.metaPageCount, first < count else { throw outside(first) }
        let start = base + (Int(first) &<< pageShift)
        let fields = start.load(fromByteOffset: 8, as: UInt64.self)
        let pages = fields >> 32
        guard start.load(as: UInt64.self) == first,
            UInt16(truncatingIfNeeded: fields >> 16) == LMDBFileFormat.PageFlag.overflow
        else { throw damage(first, "is not an overflow page, though a record says so") }
        guard pages <= count - first,
            LMDBFileFormat.pageHeaderLength + node.valueLength <= Int(pages) &<< pageShift
        else { throw damage(first, "begins a value that does not fit its pages or the file") }
        return UnsafeRawBufferPointer(start: start + LMDBFileFormat.pageHeaderLength, count: node.valueLength)
    }

    // MARK: Searching

    /// The index of a branch's child that covers a key.
    @inline(__always)
    func place(of key: UnsafeRawBufferPointer, inBranch page: Page) throws -> Int {
        // The first key means "below all others" and is never compared.
        var (low, high) = (1, page.count)
        while low < high {
            let middle = (low &+ high) >> 1
            if try Self.compare(node(page, middle).key, key) <= 0 { low = middle &+ 1 } else { high = middle }
        }
        return low &- 1
    }

    /// The index of the first record of a leaf whose key is `key` or greater, and whether it equals `key`.
    @inline(__always)
    func place(of key: UnsafeRawBufferPointer, inLeaf page: Page) throws -> (place: Int, isExact: Bool) {
        var (low, high) = (0, page.count)
        while low < high {
            let middle = (low &+ high) >> 1
            let order = try Self.compare(node(page, middle).key, key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The leaf and index of the record with a key; nil if there is none.
    @inline(__always)
    func find(_ key: UnsafeRawBufferPointer, in tree: Tree) throws -> (page: Page, place: Int)? {
        guard tree.depth > 0 else { return nil }
        var number = tree.root
        for _ in 1..<tree.depth {
            let page = try branch(number)
            number = try node(page, place(of: key, inBranch: page)).child
        }
        let page = try leaf(number)
        let (place, isExact) = try place(of: key, inLeaf: page)
        return isExact ? (page, place) : nil
    }

    /// Negative if `left` comes before `right` in LMDB's order: by bytes, with a prefix first.
    @inline(__always)
    static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        guard let leftBytes = left.baseAddress, let rightBytes = right.baseAddress else {
            return left.count &- right.count
        }
        let order = memcmp(leftBytes, rightBytes, min(left.count, right.count))
        return order != 0 ? Int(order) : left.count &- right.count
    }

    /// The database that a record of the main database describes; nil if there is no such record.
    func database(_ name: String, main: Tree) throws -> Tree? {
        var name = name
        return try name.withUTF8 { name in
            guard let (page, place) = try find(UnsafeRawBufferPointer(name), in: main) else { return nil }
            let node = try node(page, place)
            guard node.flags == LMDBFileFormat.NodeFlag.tree, node.valueLength == LMDBFileFormat.treeLength,
                node.valueOffset + LMDBFileFormat.treeLength <= pageSize
            else { throw damage(number(page), "describes a database in an impossible form") }
            let bytes = LMDBBytes(
                buffer: UnsafeRawBufferPointer(start: page.start + node.valueOffset, count: LMDBFileFormat.treeLength)
            )
            return try tree(LMDBTreeRecord(bytes, at: 0), from: number(page))
        }
    }

    /// A tree, after validating its record.
    func tree(_ record: LMDBTreeRecord, from page: UInt64) throws -> Tree {
        if record.flags != 0 { throw damage(page, "holds a database with sorted duplicates or another key order") }
        if let reason = record.contradiction(lastPage: count - 1) {
            throw damage(page, "holds a database that \(reason)")
        }
        guard !record.isEmpty else { return .empty }
        return Tree(root: record.root, depth: Int(record.depth), entries: Int(clamping: record.entries))
    }

    // MARK: Damage

    private func number(_ page: Page) -> UInt64 { UInt64(page.start - base) >> UInt64(pageShift) }

    @inline(never)
    func damage(_ page: UInt64, _ reason: String) -> HabitStoreError {
        let finding = LMDBFinding(severity: .damage, page: page, message: reason)
        return LMDBError.error(.corrupt, "the file is damaged (\(finding.description)); restore a copy", path: map.path)
    }

    /// The error for a leaf whose first key does not follow the record before it.
    @inline(never)
    func disorder(_ page: Page) -> HabitStoreError {
        damage(number(page), "has a key that is not greater than what comes before it")
    }

    @inline(never)
    private func badNode(_ page: Page) -> HabitStoreError {
        damage(number(page), "has a record that reaches outside of it")
    }

    @inline(never)
    private func outside(_ page: UInt64) -> HabitStoreError {
        damage(page, "is named by another page, and is outside of the file")
    }

    @inline(never)
    private func damaged(_ page: UInt64, _ flag: UInt16) -> HabitStoreError {
        let bytes = UnsafeRawBufferPointer(start: base + Int(page) << pageShift, count: pageSize)
        let reason = LMDBPageHeader(LMDBBytes(buffer: bytes)).contradiction(
            pageNumber: page,
            isLeaf: flag == LMDBFileFormat.PageFlag.leaf,
            isFreeTree: false,
            pageSize: pageSize
        )
        return damage(page, reason ?? "has impossible bounds")
    }
}

/// A key and its value, in the map.
///
/// Both point into the file's map: they are valid until the transaction ends or, in a write transaction, until its next write. Copy
/// what must live longer.
struct LMDBRecord {
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
}

/// A file mapped for reading, separately from liblmdb's own map.
///
/// liblmdb writes with `pwrite` and relies on the system to show that in every map of the file immediately.
final class LMDBFileMap: Sendable {
    private static let smallestLength = 1 << 20

    // Only read. LMDB does not change a snapshot's pages, and a reader of a meta page checks that it was not replaced meanwhile.
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
