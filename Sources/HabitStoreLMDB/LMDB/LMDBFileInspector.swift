@_spi(Engines) import HabitStore

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
