import HabitStore

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
