import HabitStore

/// A snapshot's pages and databases, for read transactions.
///
/// Read transactions take the snapshot and the reader slot from liblmdb, but walk the trees themselves: liblmdb follows the numbers
/// in a page without checking them, so one page that decays under a valid mark would crash the process.
final class LMDBSnapshotPages: Sendable {
    /// LMDB's number of the snapshot.
    let moment: UInt64
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
