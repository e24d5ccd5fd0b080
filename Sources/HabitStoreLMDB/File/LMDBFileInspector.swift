import DurableFiles
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Examines a file's bytes before liblmdb maps them: liblmdb trusts the file and crashes on bad contents.
enum LMDBFileInspector {
    /// Another process may be in the middle of a commit: damage counts once it was found this often without a change.
    private static let agreeingLooks = 3
    private static let maximumLooks = 12
    /// The time between two looks, for the writer to finish. A meta page is written by one call, in microseconds.
    static let defaultWaitMilliseconds = 10

    /// Throws for a file that liblmdb must not open: one that is missing, foreign, newer, truncated, or damaged in its meta or root
    /// pages. Costs a few reads, whatever the file's size.
    ///
    /// - Throws: `.notFound`, `.notAStore`, `.newerVersion`, `.corrupt`, `.unsupported`, `.permissionDenied`, `.inputOutput`;
    ///   `.busy` if the file changed at every look.
    static func inspect(path: String, waitMilliseconds: Int = defaultWaitMilliseconds) throws {
        _ = try LMDBRegistry.shared.withBytes(path: path) { try inspect($0, waitMilliseconds: waitMilliseconds) }
    }

    /// The same for a file that this process does not have open, and that no other thread opens meanwhile.
    static func inspectUnopened(path: String) throws {
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        try inspect(source, waitMilliseconds: defaultWaitMilliseconds)
    }

    /// Checks every page of the main database and of the free list, which liblmdb uses to open databases and to begin a write. The
    /// caller has a read transaction open, which keeps the pages from being reused.
    static func inspectOwnTrees(_ source: LMDBPageSource) throws {
        let walker = try LMDBFileWalker(source: source, header: try soundHeader(source))
        _ = try walker.namedTrees()
        try walker.walkFreeList()
        try walker.requireUndamaged()
    }

    /// Checks the whole structure: every page of every tree, their order and counts, and the free list.
    ///
    /// Only while no process writes the file: pages that are replaced during the walk look like damage. Values are not checked,
    /// because LMDB has no checksums for them.
    ///
    /// - Returns: the problems; empty if the file is intact.
    /// - Throws: `.notFound`, `.notAStore`, `.newerVersion`, `.permissionDenied`, `.inputOutput`.
    static func walk(path: String, waitMilliseconds: Int = defaultWaitMilliseconds) throws -> [LMDBFinding] {
        try LMDBRegistry.shared.withBytes(path: path) { source in
            do {
                try inspect(source, waitMilliseconds: waitMilliseconds)
            } catch let error as HabitStoreError where error.code == .corrupt {
                return [LMDBFinding(severity: .damage, page: nil, message: error.message)]
            } catch let error as HabitStoreError where error.code == .unsupported {
                return [LMDBFinding(severity: .unsupported, page: nil, message: error.message)]
            }
            return try LMDBFileWalker(source: source, header: try LMDBFileHeader(source)).walkFile()
        }
    }

    /// The header of a file whose meta and root pages are intact, for reading it without liblmdb.
    ///
    /// - Throws: the errors of ``inspect(path:waitMilliseconds:)``.
    static func soundHeader(_ source: LMDBPageSource) throws -> LMDBFileHeader {
        try inspect(source, waitMilliseconds: defaultWaitMilliseconds)
    }

    @discardableResult
    private static func inspect(_ source: LMDBPageSource, waitMilliseconds: Int) throws -> LMDBFileHeader {
        var lastLook: [UInt8]?
        var agreeing = 0
        for _ in 0..<maximumLooks {
            do {
                return try look(source)
            } catch let error as HabitStoreError where isMaybeTorn(error) {
                let seen = try source.bytes(at: 0, length: LMDBFileFormat.pageSizes.upperBound * 2)
                agreeing = seen == lastLook ? agreeing + 1 : 1
                lastLook = seen
                guard agreeing < agreeingLooks else { throw error }
            }
            LMDBPlatform.sleep(milliseconds: waitMilliseconds)
        }
        throw LMDBError.error(.busy, "the file changed at every look; try again", path: source.path)
    }

    /// Whether a concurrent write could explain the error.
    private static func isMaybeTorn(_ error: HabitStoreError) -> Bool {
        [.corrupt, .notAStore, .newerVersion, .unsupported].contains(error.code)
    }

    private static func look(_ source: LMDBPageSource) throws -> LMDBFileHeader {
        let header = try LMDBFileHeader(source)
        let meta = header.current
        guard header.wholePages > meta.lastPage else {
            try checkTruncation(source, header)
            return header
        }
        try checkRoot(meta.freeTree, named: "free list", isFreeTree: true, source, header)
        try checkRoot(meta.mainTree, named: "main database", isFreeTree: false, source, header)
        return header
    }

    /// The file may be shorter than its last page says if the missing pages were freed before they were ever written.
    private static func checkTruncation(_ source: LMDBPageSource, _ header: LMDBFileHeader) throws {
        let truncated = LMDBError.error(
            .corrupt,
            "the file is truncated: it has \(header.fileLength) bytes and needs"
                + " \((header.current.lastPage + 1) * UInt64(header.pageSize)); restore a copy",
            path: source.path
        )
        // The free list takes 8 bytes of the file for each missing page.
        let missing = header.current.lastPage + 1 - header.wholePages
        guard missing <= header.fileLength / 8 else { throw truncated }
        let roots = [header.current.freeTree, header.current.mainTree].filter { !$0.isEmpty }.map(\.root)
        guard roots.allSatisfy({ $0 < header.wholePages }) else { throw truncated }
        try checkRoot(header.current.freeTree, named: "free list", isFreeTree: true, source, header)
        try checkRoot(header.current.mainTree, named: "main database", isFreeTree: false, source, header)
        let walker = try LMDBFileWalker(source: source, header: header)
        guard try walker.isTailFree() else { throw truncated }
    }

    private static func checkRoot(
        _ tree: LMDBTreeRecord,
        named name: String,
        isFreeTree: Bool,
        _ source: LMDBPageSource,
        _ header: LMDBFileHeader
    ) throws {
        guard !tree.isEmpty else { return }
        let offset = tree.root * UInt64(header.pageSize)
        let bytes = try source.bytes(at: offset, length: header.pageSize)
        let reason = bytes.withUnsafeBytes { buffer in
            LMDBPageHeader(LMDBBytes(buffer: buffer)).contradiction(
                pageNumber: tree.root,
                isLeaf: tree.depth == 1,
                isFreeTree: isFreeTree,
                pageSize: header.pageSize
            )
        }
        guard let reason else { return }
        throw LMDBError.error(.corrupt, "the \(name)'s root page \(reason); restore a copy", path: source.path)
    }
}

/// The start of a file, read and validated: both meta pages, and which one is current.
struct LMDBFileHeader: Equatable, Sendable {
    let metas: [LMDBMeta]
    /// The newer one, which liblmdb chooses.
    let current: LMDBMeta
    let fileLength: UInt64

    var pageSize: Int { current.pageSize }

    /// The number of complete pages in the file.
    var wholePages: UInt64 { fileLength / UInt64(pageSize) }

    /// Reads both meta pages before the length: a writer extends the file first.
    init(_ source: LMDBPageSource) throws {
        guard LMDBFileFormat.isNative else {
            throw LMDBError.error(
                .unsupported,
                "LMDB files are read on 64-bit little-endian systems",
                path: source.path
            )
        }
        let first = try Self.meta(source, index: 0, offset: 0)
        guard first.hasMagic else { throw try Self.withoutFirstMagic(source) }
        try Self.checkVersion(first, source)
        guard first.hasPossiblePageSize else { throw Self.damaged(first, "has an impossible page size", source) }
        let second = try Self.meta(source, index: 1, offset: UInt64(first.pageSize))
        fileLength = try source.length()
        guard fileLength >= UInt64(first.pageSize) * LMDBFileFormat.metaPageCount else {
            throw LMDBError.error(.corrupt, "the file is truncated within its first two pages", path: source.path)
        }
        guard second.hasMagic else { throw Self.damaged(second, "has lost its magic number", source) }
        try Self.checkVersion(second, source)
        metas = [first, second]
        for meta in metas {
            if let reason = meta.contradiction { throw Self.damaged(meta, reason, source) }
        }
        guard first.pageSize == second.pageSize else {
            throw Self.damaged(second, "has another page size than the first", source)
        }
        current = first.transaction < second.transaction ? second : first
        if let reason = current.treeContradiction { throw Self.damaged(current, reason, source) }
        try checkAgreement(source)
    }

    private func checkAgreement(_ source: LMDBPageSource) throws {
        let older = current == metas[0] ? metas[1] : metas[0]
        // Commits write the two alternately.
        let isNew = current.transaction == 0 && older.transaction == 0
        guard isNew || older.transaction + 1 == current.transaction else {
            throw LMDBError.error(.corrupt, "the meta pages are not of consecutive transactions", path: source.path)
        }
        guard older.lastPage <= current.lastPage else {
            throw LMDBError.error(.corrupt, "the newer meta page has fewer pages than the older", path: source.path)
        }
        guard current.mainTree.flags == 0 else {
            // A flag that only one of the two has is a bit error.
            let code: HabitStoreError.Code = current.mainTree.flags == older.mainTree.flags ? .unsupported : .corrupt
            throw LMDBError.error(
                code,
                "the main database has sorted duplicates or another key order",
                path: source.path
            )
        }
    }

    private static func meta(_ source: LMDBPageSource, index: UInt64, offset: UInt64) throws -> LMDBMeta {
        let bytes = try source.bytes(at: offset, length: LMDBFileFormat.metaLength)
        return bytes.withUnsafeBytes { LMDBMeta(LMDBBytes(buffer: $0), index: index) }
    }

    private static func checkVersion(_ meta: LMDBMeta, _ source: LMDBPageSource) throws {
        guard meta.version != LMDBFileFormat.version else { return }
        guard meta.version > LMDBFileFormat.version else { throw damaged(meta, "has an impossible version", source) }
        let message = "the file is of LMDB data version \(meta.version); this program reads \(LMDBFileFormat.version)"
        throw LMDBError.error(.newerVersion, message, path: source.path)
    }

    /// The error for a file without a magic number in its first page: the second page, at any page size, tells if it is a damaged
    /// LMDB file.
    private static func withoutFirstMagic(_ source: LMDBPageSource) throws -> HabitStoreError {
        let fileLength = try source.length()
        guard fileLength > 0 else { return LMDBError.error(.notAStore, "the file is empty", path: source.path) }
        if let version = try laterVersion(source) {
            return LMDBError.error(
                .newerVersion,
                "the file was made by LMDB 1.0 or later (data version \(version)); this program reads LMDB 0.9's: dump it with "
                    + "that version's `mdb_dump`, and load the dump with 0.9's `mdb_load`",
                path: source.path
            )
        }
        var pageSize = LMDBFileFormat.pageSizes.lowerBound
        while pageSize <= LMDBFileFormat.pageSizes.upperBound {
            let second = try meta(source, index: 1, offset: UInt64(pageSize))
            if second.hasMagic {
                return LMDBError.error(.corrupt, "the first meta page has lost its magic number", path: source.path)
            }
            pageSize *= 2
        }
        return LMDBError.error(.notAStore, "the file is not LMDB's", path: source.path)
    }

    /// The version of a file of a later LMDB; nil for any other file.
    private static func laterVersion(_ source: LMDBPageSource) throws -> UInt32? {
        let bytes = try source.bytes(at: UInt64(LMDBFileFormat.laterMagicOffset), length: 8)
        return bytes.withUnsafeBytes { buffer in
            let bytes = LMDBBytes(buffer: buffer)
            let version = bytes.u32(4)
            return bytes.u32(0) == LMDBFileFormat.magic && version > LMDBFileFormat.version ? version : nil
        }
    }

    private static func damaged(_ meta: LMDBMeta, _ reason: String, _ source: LMDBPageSource) -> HabitStoreError {
        LMDBError.error(.corrupt, "meta page \(meta.index) \(reason); restore a copy", path: source.path)
    }
}

/// Reads the file's bytes into its own memory: without a map there is no SIGBUS, whatever happens to the file.
final class LMDBPageSource {
    let path: String
    private let descriptor: Int32
    private var isOwner: Bool

    /// Opens the file. Only for files that this process does not have open.
    init(path: String) throws {
        self.path = path
        // Not blocking: the path may have become a pipe since it was examined.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        isOwner = descriptor >= 0
        guard isOwner else { throw LMDBError.error(errno, during: "opening the file", path: path) }
    }

    /// Reads through a descriptor that another object owns.
    init(path: String, borrowing descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
        isOwner = false
    }

    deinit { close() }

    func close() {
        guard isOwner else { return }
        isOwner = false
        closeDescriptor(descriptor)
    }

    /// The current length of the file.
    func length() throws -> UInt64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LMDBError.error(.notAStore, "a folder or a device is not a store", path: path)
        }
        return UInt64(clamping: status.st_size)
    }

    /// Fills the buffer from an offset, and returns the number of bytes read.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard offset <= LMDBFileFormat.maximumFileBytes * 2 else { return 0 }
        let count = OpenFile.read(descriptor, into: buffer, at: off_t(offset))
        guard count >= 0 else { throw failure(errno) }
        return count
    }

    /// Reads up to `length` bytes; fewer at the end of the file.
    func bytes(at offset: UInt64, length: Int) throws -> [UInt8] {
        var count = 0
        var bytes = [UInt8](repeating: 0, count: length)
        try bytes.withUnsafeMutableBytes { count = try read(at: offset, into: $0) }
        bytes.removeLast(length - count)
        return bytes
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        LMDBError.error(number, during: "reading the file", path: path)
    }
}

// Inside the class, `close` refers to the method.
private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
