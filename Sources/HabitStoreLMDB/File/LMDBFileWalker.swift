@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Walks every page that a file's newest snapshot reaches, and collects findings.
final class LMDBFileWalker {
    /// The state of a page.
    enum PageState: UInt8 {
        case unseen
        case used
        case free
    }

    /// More findings would not help.
    static let maximumFindings = 100

    let source: LMDBPageSource
    let header: LMDBFileHeader
    private(set) var findings: [LMDBFinding] = []
    private var states: [PageState]
    private var hiddenFindings = 0

    init(source: LMDBPageSource, header: LMDBFileHeader) throws {
        self.source = source
        self.header = header
        // The inspector has compared the last page with the file's length, so this allocates no more than the file justifies.
        guard let count = Int(exactly: header.current.lastPage + 1), header.current.lastPage < header.fileLength else {
            throw LMDBError.error(.corrupt, "the file is truncated", path: source.path)
        }
        states = [PageState](repeating: .unseen, count: count)
        for index in 0..<min(count, Int(LMDBFileFormat.metaPageCount)) { states[index] = .used }
    }

    var lastPage: UInt64 { header.current.lastPage }

    func report(_ severity: LMDBFinding.Severity, page: UInt64?, _ message: String) {
        guard findings.count < Self.maximumFindings else {
            hiddenFindings += 1
            return
        }
        findings.append(LMDBFinding(severity: severity, page: page, message: message))
    }

    /// - Throws: `.corrupt` with the first damage that was found.
    func requireUndamaged() throws {
        guard let damage = findings.first(where: { $0.severity == .damage }) else { return }
        throw LMDBError.error(
            .corrupt,
            "the file is damaged (\(damage.description)); restore a copy",
            path: source.path
        )
    }

    /// Marks a page as used or free. Returns false, and adds a finding, if the page is outside the file or already marked.
    func claim(_ page: UInt64, as state: PageState, from origin: UInt64?) -> Bool {
        guard page >= LMDBFileFormat.metaPageCount, page <= lastPage else {
            report(.damage, page: origin, "points to page \(page), which is outside of the file")
            return false
        }
        let index = Int(page)
        switch (states[index], state) {
        case (.unseen, _):
            states[index] = state
            return true
        case (.used, .used): report(.damage, page: page, "is reached twice")
        case (.free, .free): report(.damage, page: page, "is listed as free twice")
        default: report(.damage, page: page, "is in use and listed as free")
        }
        return false
    }

    /// Walks the whole file.
    func walkFile() throws -> [LMDBFinding] {
        try walkFreeList()
        let main = LMDBTreeWalker(file: self, tree: header.current.mainTree, kind: .main)
        try main.walk()
        for named in main.namedTrees { try walk(named) }
        reportLeaks()
        // Reported last, because findings end a search, and the file can be read despite this one.
        if let page = main.foreignPage {
            report(.foreign, page: page, "has a record among the databases, which is not one")
        }
        if hiddenFindings > 0 {
            let message = "\(hiddenFindings) more findings are not listed"
            findings.append(LMDBFinding(severity: .damage, page: nil, message: message))
        }
        return findings
    }

    /// Walks the free list.
    func walkFreeList() throws {
        try LMDBTreeWalker(file: self, tree: header.current.freeTree, kind: .freeList).walk()
    }

    /// The databases of the file, by their names.
    func namedTrees() throws -> [[UInt8]: LMDBTreeWalker.NamedTree] {
        let main = LMDBTreeWalker(file: self, tree: header.current.mainTree, kind: .main)
        try main.walk()
        return Dictionary(main.namedTrees.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Walks one database, and passes its records to `onRecord`.
    func walk(_ named: LMDBTreeWalker.NamedTree, onRecord: ((LMDBRecord) throws -> Void)? = nil) throws {
        if named.tree.flags != 0 {
            report(.unsupported, page: named.page, "holds a database with sorted duplicates or another key order")
        } else if let reason = named.tree.contradiction(lastPage: lastPage) {
            report(.damage, page: named.page, "holds a database that \(reason)")
        } else {
            let walker = LMDBTreeWalker(file: self, tree: named.tree, kind: .named)
            walker.onRecord = onRecord
            try walker.walk()
        }
    }

    /// Whether every page beyond the end of the file is on the free list.
    func isTailFree() throws -> Bool {
        try walkFreeList()
        guard findings.isEmpty, let first = Int(exactly: header.wholePages), first <= states.count else { return false }
        return states[first...].allSatisfy { $0 == .free }
    }

    /// Only for a file without other findings: pages below a damaged one are unreachable rather than leaked.
    private func reportLeaks() {
        guard findings.isEmpty, let first = states.firstIndex(of: .unseen) else { return }
        let count = states.reduce(into: 0) { if $1 == .unseen { $0 += 1 } }
        report(.leak, page: UInt64(first), "and \(count - 1) more are neither in use nor free")
    }
}

/// Walks one tree of a file; see ``LMDBFileWalker``.
final class LMDBTreeWalker {
    enum Kind {
        case freeList
        case main
        case named
    }

    /// A database that a record of the main database describes, and the page of that record.
    struct NamedTree {
        let name: [UInt8]
        let page: UInt64
        let tree: LMDBTreeRecord
    }

    /// A page of the main database with a record that does not describe a database.
    private(set) var foreignPage: UInt64?
    /// The databases that the main database's records describe.
    private(set) var namedTrees: [NamedTree] = []
    /// Receives each record whose position is valid. Only the findings after the walk tell if the whole tree is intact.
    var onRecord: ((LMDBRecord) throws -> Void)?

    let file: LMDBFileWalker
    private let tree: LMDBTreeRecord
    private let kind: Kind
    private var branchPages: UInt64 = 0
    private var leafPages: UInt64 = 0
    private var overflowPages: UInt64 = 0
    private var entries: UInt64 = 0
    /// The key before the current one, over the whole tree.
    private var previousKey: [UInt8] = []
    /// The lower bound of the next leaf's keys, from the branch above.
    private var lowerBound: [UInt8]?
    /// Scratch space: the start and end of each node of a page.
    private var extents: [UInt32] = []

    init(file: LMDBFileWalker, tree: LMDBTreeRecord, kind: Kind) {
        self.file = file
        self.tree = tree
        self.kind = kind
    }

    func walk() throws {
        guard !tree.isEmpty else { return }
        let before = file.findings.count
        try visit(tree.root, level: 1, from: nil)
        // After damage, the counts are wrong anyway.
        guard file.findings.count == before else { return }
        let isAsCounted =
            branchPages == tree.branchPages && leafPages == tree.leafPages && overflowPages == tree.overflowPages
            && entries == tree.entries
        if !isAsCounted { damage(tree.root, "is the root of a tree whose counts of pages or records are wrong") }
    }

    private var pageSize: Int { file.header.pageSize }

    private func damage(_ page: UInt64, _ message: String) { file.report(.damage, page: page, message) }

    private func visit(_ page: UInt64, level: UInt16, from origin: UInt64?) throws {
        guard file.claim(page, as: .used, from: origin) else { return }
        let isLeaf = level == tree.depth
        try withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
            let count = try file.source.read(at: page * UInt64(pageSize), into: buffer)
            let bytes = LMDBBytes(buffer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            let header = LMDBPageHeader(bytes)
            let reason = header.contradiction(
                pageNumber: page,
                isLeaf: isLeaf,
                isFreeTree: kind == .freeList,
                pageSize: pageSize
            )
            if let reason { return damage(page, reason) }
            extents.removeAll(keepingCapacity: true)
            if isLeaf {
                leafPages += 1
                try visitLeaf(page, bytes, header)
            } else {
                branchPages += 1
                guard checkBranchNodes(page, bytes, header) else { return }
                for index in 0..<header.nodeCount {
                    let (key, child) = branchNode(bytes, index)
                    if index > 0, !enterChild(page, key) { return }
                    try visit(child, level: level + 1, from: page)
                }
            }
        }
    }

    // MARK: Branches

    /// The first key of a branch means "below all others" and is never compared.
    private func checkBranchNodes(_ page: UInt64, _ bytes: LMDBBytes, _ header: LMDBPageHeader) -> Bool {
        for index in 0..<header.nodeCount {
            let offset = nodeOffset(bytes, index)
            let end = offset + LMDBFileFormat.nodeHeaderLength + Int(bytes.u16(offset + 6))
            guard isNode(from: offset, to: end, header) else {
                damage(page, "has a record that reaches outside of it")
                return false
            }
            let length = Int(bytes.u16(offset + 6))
            guard index == 0 || isPossibleKey(length: length) else {
                damage(page, "has a key of impossible length")
                return false
            }
        }
        return checkOverlap(page)
    }

    private func branchNode(_ bytes: LMDBBytes, _ index: Int) -> (key: UnsafeRawBufferPointer, child: UInt64) {
        let offset = nodeOffset(bytes, index)
        let child =
            UInt64(bytes.u16(offset)) | UInt64(bytes.u16(offset + 2)) << 16 | UInt64(bytes.u16(offset + 4)) << 32
        let key = bytes.slice(offset + LMDBFileFormat.nodeHeaderLength, Int(bytes.u16(offset + 6)))
        return (key, child)
    }

    /// All earlier keys must be less than the branch's key, all later ones must not be.
    private func enterChild(_ page: UInt64, _ key: UnsafeRawBufferPointer) -> Bool {
        guard previousKey.withUnsafeBytes({ isBefore($0, key) }) else {
            damage(page, "has a key that is not greater than what comes before it")
            return false
        }
        lowerBound = Array(key)
        return true
    }

    // MARK: Leaves

    private func visitLeaf(_ page: UInt64, _ bytes: LMDBBytes, _ header: LMDBPageHeader) throws {
        for index in 0..<header.nodeCount {
            let offset = nodeOffset(bytes, index)
            let keyLength = Int(bytes.u16(offset + 6))
            let flags = bytes.u16(offset + 4)
            let valueLength = Int(bytes.u16(offset)) | Int(bytes.u16(offset + 2)) << 16
            let isOverflow = flags & LMDBFileFormat.NodeFlag.overflow != 0
            let valueOffset = offset + LMDBFileFormat.nodeHeaderLength + keyLength
            let end = valueOffset + (isOverflow ? 8 : valueLength)
            guard isNode(from: offset, to: end, header), isPossibleKey(length: keyLength) else {
                return damage(page, "has a record that reaches outside of it or has an impossible key")
            }
            let key = bytes.slice(offset + LMDBFileFormat.nodeHeaderLength, keyLength)
            guard checkOrder(page, key) else { return }
            entries += 1
            guard checkFlags(page, flags) else { return }
            if kind == .main, flags & LMDBFileFormat.NodeFlag.tree == 0 { foreignPage = foreignPage ?? page }
            if isOverflow {
                let run = bytes.u64(valueOffset)
                guard try visitOverflow(run, valueLength: valueLength, from: page) else { return }
                if kind == .freeList { try visitFreeRecord(page, overflow: run, length: valueLength) }
                if let onRecord {
                    let value = try overflowValue(run, length: valueLength)
                    try value.withUnsafeBytes { try onRecord(LMDBRecord(key: key, value: $0)) }
                }
            } else if kind == .freeList {
                checkFreeRecord(page, LMDBBytes(buffer: bytes.slice(valueOffset, valueLength)))
            } else if flags & LMDBFileFormat.NodeFlag.tree != 0 {
                guard valueLength == LMDBFileFormat.treeLength else {
                    return damage(page, "describes a database in an impossible length")
                }
                namedTrees.append(NamedTree(name: Array(key), page: page, tree: LMDBTreeRecord(bytes, at: valueOffset)))
            } else if let onRecord {
                try onRecord(LMDBRecord(key: key, value: bytes.slice(valueOffset, valueLength)))
            }
        }
        _ = checkOverlap(page)
    }

    private func checkFlags(_ page: UInt64, _ flags: UInt16) -> Bool {
        switch flags {
        case 0, LMDBFileFormat.NodeFlag.overflow:
            return true
        case LMDBFileFormat.NodeFlag.tree where kind == .main:
            return true
        default:
            damage(page, "has a record of a kind that cannot be there")
            return false
        }
    }

    private func checkOrder(_ page: UInt64, _ key: UnsafeRawBufferPointer) -> Bool {
        if let bound = lowerBound {
            lowerBound = nil
            guard bound.withUnsafeBytes({ !isBefore(key, $0) }) else {
                damage(page, "has a key below the one that leads to it")
                return false
            }
        }
        // No key is empty, so the first one is greater than the empty initial value.
        guard previousKey.withUnsafeBytes({ isBefore($0, key) }) else {
            damage(page, "has a key that is not greater than the one before it")
            return false
        }
        previousKey.replaceSubrange(0..<previousKey.count, with: key)
        if kind == .freeList, UInt64(littleEndian: key.loadUnaligned(as: UInt64.self)) > file.header.current.transaction
        {
            damage(page, "lists pages freed by a transaction that has not happened")
            return false
        }
        return true
    }

    // MARK: Overflow pages and the free list

    private func visitOverflow(_ first: UInt64, valueLength: Int, from page: UInt64) throws -> Bool {
        guard file.claim(first, as: .used, from: page) else { return false }
        let bytes = try file.source.bytes(at: first * UInt64(pageSize), length: LMDBFileFormat.pageHeaderLength)
        let (number, flags, pages) = bytes.withUnsafeBytes { buffer in
            let bytes = LMDBBytes(buffer: buffer)
            return (bytes.u64(0), bytes.u16(10), UInt64(bytes.u32(12)))
        }
        guard number == first, flags == LMDBFileFormat.PageFlag.overflow else {
            damage(first, "is not an overflow page, though a record says so")
            return false
        }
        // A value that shrank within a transaction keeps its pages, so there may be more than it needs.
        let needed = UInt64((LMDBFileFormat.pageHeaderLength - 1 + valueLength) / pageSize + 1)
        guard pages >= needed, pages <= file.lastPage, first + pages <= file.header.wholePages else {
            damage(first, "begins a value that does not fit its pages or the file")
            return false
        }
        for page in first + 1..<first + pages where !file.claim(page, as: .used, from: first) { return false }
        overflowPages += pages
        return true
    }

    private func visitFreeRecord(_ page: UInt64, overflow: UInt64, length: Int) throws {
        let record = try overflowValue(overflow, length: length)
        record.withUnsafeBytes { checkFreeRecord(page, LMDBBytes(buffer: $0)) }
    }

    /// A value whose pages are known to be in the file.
    private func overflowValue(_ first: UInt64, length: Int) throws -> [UInt8] {
        let offset = first * UInt64(pageSize) + UInt64(LMDBFileFormat.pageHeaderLength)
        return try file.source.bytes(at: offset, length: length)
    }

    /// A count and that many page numbers, in descending order. The record may be longer.
    private func checkFreeRecord(_ page: UInt64, _ record: LMDBBytes) {
        let count = record.u64(0)
        guard record.count >= 8, record.count % 8 == 0, count <= UInt64(record.count / 8 - 1) else {
            return damage(page, "has a list of free pages that is longer than its record")
        }
        var previous = UInt64.max
        for index in 0..<Int(count) {
            let free = record.u64(8 + index * 8)
            guard free < previous else { return damage(page, "has a list of free pages that is out of order") }
            guard file.claim(free, as: .free, from: page) else { return }
            previous = free
        }
    }

    // MARK: Nodes

    private func nodeOffset(_ bytes: LMDBBytes, _ index: Int) -> Int {
        Int(bytes.u16(LMDBFileFormat.pageHeaderLength + index * 2))
    }

    private func isNode(from offset: Int, to end: Int, _ header: LMDBPageHeader) -> Bool {
        guard offset >= header.upper, offset & 1 == 0, end <= pageSize else { return false }
        guard offset + LMDBFileFormat.nodeHeaderLength <= end else { return false }
        extents.append(UInt32(offset) << 16 | UInt32(end))
        return true
    }

    private func isPossibleKey(length: Int) -> Bool {
        kind == .freeList ? length == 8 : length >= 1 && length <= LMDBTransaction.maximumKeyLength
    }

    private func checkOverlap(_ page: UInt64) -> Bool {
        extents.sort()
        var previousEnd: UInt32 = 0
        for extent in extents {
            guard extent >> 16 >= previousEnd else {
                damage(page, "has records that overlap")
                return false
            }
            previousEnd = extent & 0xFFFF
        }
        return true
    }

    private func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard kind == .freeList else { return KeyOrder.isBefore(left, right) }
        // Transaction numbers in the machine's byte order; an empty key is less than all of them.
        guard right.count == 8 else { return false }
        guard left.count == 8 else { return true }
        return left.loadUnaligned(as: UInt64.self) < right.loadUnaligned(as: UInt64.self)
    }
}

/// A finding of a structural check of a file.
struct LMDBFinding: Equatable, Sendable, CustomStringConvertible {
    /// The consequences of a finding for using the file.
    enum Severity: String, Sendable {
        /// The file is inconsistent; liblmdb must not read it.
        case damage
        /// The file uses a feature that this check does not support, so that part is unchecked.
        case unsupported
        /// The file has records that no store writes: something else changed it, but liblmdb can read it.
        case foreign
        /// Some pages are neither used nor free: they waste space but do no harm.
        case leak
    }

    let severity: Severity
    /// The page; nil for a finding about the whole file.
    let page: UInt64?
    /// One sentence, without contents of the file.
    let message: String

    /// The finding in one line.
    var description: String {
        let place = page.map { "page \($0): " } ?? ""
        return "\(severity.rawValue): \(place)\(message)"
    }
}
