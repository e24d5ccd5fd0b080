import DurableFiles
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A snapshot's pages and databases, for read transactions.
///
/// Read transactions take the snapshot and the reader slot from liblmdb, but walk the trees themselves: liblmdb follows the numbers
/// in a page without checking them, so one page that decays under a valid mark would crash the process.
final class LMDBSnapshotPages: Sendable {
    /// LMDB's number of the snapshot.
    let moment: UInt64
    // Only read, and `map` keeps the memory.
    nonisolated(unsafe) let pages: LMDBMappedPages
    /// Keeps the pages mapped.
    private let map: LMDBFileMap
    /// By the databases' places in the environment's table; empty for a database that the snapshot lacks.
    private let trees: [LMDBMappedPages.Tree]
    /// The damage that prevented reading the trees.
    private let failure: HabitStoreError?
    /// The offset of the snapshot's meta page, and what it says about the pages.
    private let metaOffset: Int
    private let mainRoot: UInt64
    private let lastPage: UInt64

    /// The snapshot of a moment that the caller's reader slot pins.
    ///
    /// - Returns: nil if later commits replaced the snapshot's meta page before it was read.
    init?(moment: UInt64, map: LMDBFileMap, fileLength: UInt64, databases: [String]) {
        let length = min(map.length, Int(clamping: fileLength))
        let bytes = LMDBBytes(buffer: UnsafeRawBufferPointer(start: map.start, count: length))
        let first = LMDBMeta(bytes, index: 0)
        let pageSize = first.hasPossiblePageSize ? first.pageSize : LMDBFileFormat.pageSizes.lowerBound
        let index = moment & 1
        let offset = Int(index) * pageSize
        let meta = LMDBMeta(LMDBBytes(buffer: bytes.slice(offset, LMDBFileFormat.metaLength)), index: index)
        // Commits write the two meta pages alternately.
        guard meta.transaction <= moment, bytes.u64(offset + LMDBMeta.transactionOffset) <= moment else { return nil }
        let count = min(meta.lastPage &+ 1, UInt64(length / pageSize))
        let pages = LMDBMappedPages(map, pageSize: pageSize, count: count)
        self.moment = moment
        self.map = map
        self.pages = pages
        (metaOffset, mainRoot, lastPage) = (offset, meta.mainTree.root, meta.lastPage)
        do {
            if let reason = meta.contradiction ?? meta.treeContradiction {
                throw LMDBError.error(.corrupt, "meta page \(index) \(reason); restore a copy", path: map.path)
            }
            guard meta.transaction == moment else {
                throw LMDBError.error(
                    .staleStore,
                    "another program put an older file over this one while it was open; close the store and open it again",
                    path: map.path
                )
            }
            let main = try pages.tree(meta.mainTree, from: index)
            trees = try databases.map { try pages.database($0, main: main) ?? .empty }
            failure = nil
        } catch {
            trees = []
            failure = error as? HabitStoreError
        }
    }

    /// Whether the file still has the snapshot's meta page, or a later commit's in its place.
    ///
    /// Another program may have overwritten the open file with an older one: pages of the snapshot may then be beyond its end.
    @inline(__always)
    var isInPlace: Bool {
        let meta = map.start + metaOffset
        let transaction = meta.load(fromByteOffset: LMDBMeta.transactionOffset, as: UInt64.self)
        return transaction > moment
            || transaction == moment && meta.load(fromByteOffset: LMDBMeta.mainRootOffset, as: UInt64.self) == mainRoot
                && meta.load(fromByteOffset: LMDBMeta.lastPageOffset, as: UInt64.self) == lastPage
    }

    /// A database by its place in the environment's table, if it was there when the transaction began.
    @inline(__always)
    func tree(_ index: Int) throws -> LMDBMappedPages.Tree {
        guard index < trees.count else { throw failure ?? LMDBSnapshotPages.unknown }
        return trees[index]
    }

    private static var unknown: HabitStoreError {
        HabitStoreError(.internalInconsistency, "the database was opened after this transaction began")
    }

    /// The value of a key, or nil.
    @inline(__always)
    func get(_ database: LMDBDatabase, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        guard let (page, place) = try pages.find(key, in: tree(database.index)) else { return nil }
        return try pages.value(pages.node(page, place), page)
    }
}

/// A position in a database of a snapshot, moved record by record: the ``LMDBCursor`` of a read transaction.
///
/// Every page is checked when it is entered. The keys of a leaf must follow those of the leaf before it, so pages that form a cycle
/// end a walk with an error.
struct LMDBTreePlace {
    private struct Level {
        let page: LMDBMappedPages.Page
        var index: Int
    }

    private let tree: LMDBMappedPages.Tree
    /// The branches above the leaf, from the root down; nil for a tree of a single leaf.
    private let levels: UnsafeMutablePointer<Level>?
    /// Nil before the first move, and after an error.
    private var leaf: LMDBMappedPages.Page?
    /// The record's index in the leaf; the leaf's count after a search that found nothing.
    private var index = 0

    init(_ tree: LMDBMappedPages.Tree) {
        self.tree = tree
        levels = tree.depth > 1 ? .allocate(capacity: tree.depth - 1) : nil
    }

    /// Frees the position, which must not be used any more.
    func end() { levels?.deallocate() }

    // MARK: Moving

    @inline(__always)
    mutating func next(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        let following = index &+ 1
        guard let leaf, following < leaf.count else { return try nextLeaf(pages) }
        index = following
        return try pages.record(leaf, following)
    }

    @inline(__always)
    mutating func previous(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard let leaf, index > 0 else { return try previousLeaf(pages) }
        index &-= 1
        return try pages.record(leaf, index)
    }

    func current(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard let leaf, index < leaf.count else { return nil }
        return try pages.record(leaf, index)
    }

    mutating func first(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard tree.depth > 0 else { return nil }
        return try stand(0, of: descend(pages, from: 0, tree.root) { _ in 0 }, pages)
    }

    mutating func last(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard tree.depth > 0 else { return nil }
        let leaf = try descend(pages, from: 0, tree.root) { $0.count &- 1 }
        return try stand(leaf.count &- 1, of: leaf, pages)
    }

    /// Moves to the first record whose key is `key` or greater or, if `isExact`, to the one with exactly this key.
    @inline(__always)
    mutating func seek(
        _ key: UnsafeRawBufferPointer,
        isExact: Bool,
        _ pages: LMDBMappedPages
    ) throws -> LMDBRecord? {
        guard tree.depth > 0 else { return nil }
        let leaf =
            try leaf(around: key, pages)
            ?? descend(pages, from: 0, tree.root) { try pages.place(of: key, inBranch: $0) }
        let found = try pages.place(of: key, inLeaf: leaf)
        (self.leaf, index) = (leaf, found.place)
        if isExact { return found.isExact ? try pages.record(leaf, index) : nil }
        return index < leaf.count ? try pages.record(leaf, index) : try nextLeaf(pages)
    }

    /// The current leaf, if a key is between its first and its last: the next search is often near the previous one.
    @inline(__always)
    private func leaf(
        around key: UnsafeRawBufferPointer,
        _ pages: LMDBMappedPages
    ) throws -> LMDBMappedPages.Page? {
        guard let leaf, try LMDBMappedPages.compare(pages.node(leaf, 0).key, key) <= 0,
            try LMDBMappedPages.compare(key, pages.node(leaf, leaf.count &- 1).key) <= 0
        else { return nil }
        return leaf
    }

    // MARK: From leaf to leaf

    private mutating func nextLeaf(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard let leaf else { return try first(pages) }
        guard let levels else { return nil }
        var level = tree.depth &- 2
        while level >= 0, levels[level].index &+ 1 >= levels[level].page.count { level &-= 1 }
        guard level >= 0 else { return nil }
        levels[level].index &+= 1
        let found = try descend(pages, from: level &+ 1, child(levels[level], pages)) { _ in 0 }
        let (before, after) = try (pages.node(leaf, leaf.count &- 1).key, pages.node(found, 0).key)
        guard LMDBMappedPages.compare(before, after) < 0 else { throw pages.disorder(found) }
        return try stand(0, of: found, pages)
    }

    private mutating func previousLeaf(_ pages: LMDBMappedPages) throws -> LMDBRecord? {
        guard let leaf else { return try last(pages) }
        guard let levels else { return nil }
        var level = tree.depth &- 2
        while level >= 0, levels[level].index == 0 { level &-= 1 }
        guard level >= 0 else { return nil }
        levels[level].index &-= 1
        let found = try descend(pages, from: level &+ 1, child(levels[level], pages)) { $0.count &- 1 }
        let (before, after) = try (pages.node(found, found.count &- 1).key, pages.node(leaf, 0).key)
        guard LMDBMappedPages.compare(before, after) < 0 else { throw pages.disorder(found) }
        return try stand(found.count &- 1, of: found, pages)
    }

    private func child(_ level: Level, _ pages: LMDBMappedPages) throws -> UInt64 {
        try pages.node(level.page, level.index).child
    }

    private mutating func stand(
        _ place: Int,
        of page: LMDBMappedPages.Page,
        _ pages: LMDBMappedPages
    ) throws -> LMDBRecord? {
        (leaf, index) = (page, place)
        return try pages.record(page, place)
    }

    /// The leaf below a page of a level, by the child that `choose` picks in each branch. Clears the current leaf first, so that
    /// after an error the position is that of a new cursor.
    @inline(__always)
    private mutating func descend(
        _ pages: LMDBMappedPages,
        from top: Int,
        _ page: UInt64,
        _ choose: (LMDBMappedPages.Page) throws -> Int
    ) throws -> LMDBMappedPages.Page {
        leaf = nil
        var number = page
        var level = top
        while let levels, level < tree.depth &- 1 {
            let branch = try pages.branch(number)
            let chosen = try choose(branch)
            (levels + level).initialize(to: Level(page: branch, index: chosen))
            number = try pages.node(branch, chosen).child
            level &+= 1
        }
        return try pages.leaf(number)
    }
}

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
