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
