import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A store in an LMDB 0.9 file, read without liblmdb: on a machine whose library rejects the file, as LMDB 1.0 does, its contents
/// can still be read, compared and copied into another store.
///
/// It has the newest snapshot of the file as of its opening, all in memory: records, history and digests, in proportion to the
/// store. It does not see later writes of other processes. Queries visit every record. Every write throws
/// ``HabitStore/HabitStoreError/Code/engineUnavailable``.
@_spi(Engines) public final class RescuedLMDBStore: EngineBackedStore {
    /// The store's semantics on top of the engine.
    public let core: EngineStore<RescuedLMDBEngine>

    /// Reads a store.
    ///
    /// - Throws: as opening an ``LMDBHabitStore`` read-only does; `corrupt` also for a damaged record, wherever it is; `busy` when
    ///   others write the file faster than it can be read.
    public init(rescuing path: String, schema: Schema) throws {
        try schema.validate()
        core = try EngineStore(
            RescuedLMDBEngine(path: path, schema: schema),
            schema: schema,
            isReadOnly: true
        )
    }

    /// The outline of the store in a file, whatever its schema.
    public static func outline(rescuing path: String) throws -> StoreOutline {
        let schema = Schema([])
        let contents = try LMDBUnlockedReading.run(path: path) { source, header in
            try LMDBRescueReader(source, header).contents(schema, isOutline: true)
        }
        return try InMemoryEngine(schema: schema, contents: contents).read { try StoreOutline($0, path: path) }
    }
}

/// The engine of ``RescuedLMDBStore``: one snapshot of a file, read into memory without liblmdb.
@_spi(Engines) public final class RescuedLMDBEngine: StorageEngine {
    /// How often a copy is restarted because of commits.
    private static let maximumCopyAttempts = 10

    /// The path of the file.
    public let path: String?
    private let file: String
    private let memory: InMemoryEngine

    init(path: String, schema: Schema) throws {
        self.path = path
        file = path
        let contents = try LMDBUnlockedReading.run(path: path) { source, header in
            try LMDBRescueReader(source, header).contents(schema)
        }
        memory = InMemoryEngine(schema: schema, contents: contents)
    }

    /// Runs `body` on the snapshot in memory.
    public func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { try memory.read(body) }

    /// Always throws: without liblmdb the file is read-only.
    public func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { throw unwritable() }

    /// Always throws: without liblmdb the file is read-only.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: InMemoryTransaction, _ reshaped: (Set<String>) throws -> InMemoryTransaction) throws -> R
    ) throws -> R { throw unwritable() }

    private func unwritable() -> HabitStoreError {
        LMDBError.error(
            .engineUnavailable,
            "the store was opened without liblmdb, which refuses its file, and cannot be written to; copy it into another store",
            path: file
        )
    }

    /// Checks the structure of the whole file in its current state. Records and history were checked when they were read.
    ///
    /// Indexes are checked as trees, but not against the records: this engine does not read through them.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        // The memory engine also detects a closed store.
        try memory.read { _ in }
        return try LMDBUnlockedReading.run(path: file) { source, header in
            try LMDBFileWalker(source: source, header: header).walkFile().map(StoreFinding.init)
        }
    }

    /// Writes the file's newest snapshot to an unused path.
    public func backup(to path: String) throws {
        try memory.read { _ in }
        try LMDBDraft.write(path, during: "making the copy") { descriptor in
            for _ in 0..<Self.maximumCopyAttempts {
                let isWhole = try LMDBUnlockedReading.run(path: file) { source, header in
                    try LMDBSnapshotCopy.write(source, transaction: header.current.transaction, to: descriptor)
                }
                if isWhole { return }
            }
            throw LMDBError.error(.busy, "the file was written to while it was copied; try again", path: file)
        }
    }

    /// Releases the snapshot.
    public func close() { memory.close() }
}

/// Reads a store's bookkeeping, records, history and digests from the pages of one snapshot, without liblmdb.
///
/// Every page and every position in it is checked before use, as in ``LMDBFileWalker``, and every record by its checksum and its
/// key, as in ``LMDBSnapshot``.
struct LMDBRescueReader {
    private let path: String
    private let walker: LMDBFileWalker
    private let databases: [[UInt8]: LMDBTreeWalker.NamedTree]

    /// - Throws: `.corrupt` if the list of databases is damaged.
    init(_ source: LMDBPageSource, _ header: LMDBFileHeader) throws {
        path = source.path
        walker = try LMDBFileWalker(source: source, header: header)
        databases = try walker.namedTrees()
        try requireSound()
    }

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - schema: the expected schema of its records.
    ///   - isOutline: whether to read only the last transaction of the history, without its changes.
    /// - Throws: `.notAStore` for an environment of another program; `.newerVersion`, `.migrationRequired` and `.schemaMismatch`
    ///   like opening; `.corrupt` for damage.
    func contents(_ schema: Schema, isOutline: Bool = false) throws -> InMemoryContents {
        var contents = InMemoryContents(schema: schema)
        contents.metadata = try metadata()
        // Before reading the records with a schema that may not be theirs.
        if !schema.entities.isEmpty {
            let bookkeeping = InMemoryEngine(schema: schema, contents: contents)
            try bookkeeping.read { try $0.requireSchema(schema, path: path) }
        }
        for (position, entity) in schema.entities.enumerated() {
            contents.records[position] = try records(entity)
        }
        contents.history = try history(isOutline: isOutline)
        contents.digests = try digests(schema)
        return contents
    }

    /// Passes the records of a database to `body`.
    ///
    /// - Returns: false if the file has no database with this name.
    @discardableResult
    private func walk(_ name: String, _ body: (LMDBRecord) throws -> Void) throws -> Bool {
        guard let named = databases[Array(name.utf8)] else { return false }
        try withoutActuallyEscaping(body) { try walker.walk(named, onRecord: $0) }
        try requireSound()
        return true
    }

    private func requireSound() throws {
        guard let finding = walker.findings.first(where: { $0.severity != .leak }) else { return }
        let code: HabitStoreError.Code = finding.severity == .unsupported ? .unsupported : .corrupt
        throw LMDBError.error(code, "the file is damaged (\(finding.description)); restore a copy", path: path)
    }

    // MARK: Bookkeeping

    private func metadata() throws -> [String: String] {
        var metadata: [String: String] = [:]
        try walk(LMDBFormat.metadata) { record in
            let key = try text(record.key)
            metadata[key] = try text(record.value)
        }
        try LMDBFormat.require(metadata[LMDBFormat.formatKey], path: path)
        return metadata
    }

    private func text(_ bytes: UnsafeRawBufferPointer) throws -> String {
        guard let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw LMDBError.error(.corrupt, "the store's bookkeeping holds a value that is not text", path: path)
        }
        return text
    }

    // MARK: Records

    private func records(_ entity: EntityDescription) throws -> [UUID: EncodedRecord] {
        var records: [UUID: EncodedRecord] = [:]
        let isThere = try walk(entity.name) { record in
            let view = try LMDBSnapshot.view(record, entity: entity.name, entity.layout, path: path)
            records[try view.identifier()] = view.encoded()
        }
        guard isThere else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store has no entity \(entity.name)",
                at: .init(path: path, entity: entity.name)
            )
        }
        return records
    }

    // MARK: History and digests

    private func history(isOutline: Bool) throws -> [HistoryTransaction] {
        var assembler = HistoryAssembler(path: path, isOutline: isOutline)
        try walk(LMDBFormat.history) { try assembler.add($0.key, $0.value) }
        try assembler.finish()
        return assembler.transactions
    }

    private func digests(_ schema: Schema) throws -> [[DigestLeaf]] {
        let prefixes = schema.entities.map { LMDBFormat.digestPrefix($0.name) }
        var digests: [[DigestLeaf]] = schema.entities.map { _ in [] }
        try walk(LMDBFormat.digests) { record in
            for (position, prefix) in prefixes.enumerated() {
                guard let leaf = try DigestLeaf(record, prefix: prefix, path: path) else { continue }
                digests[position].append(leaf)
            }
        }
        return digests
    }
}

/// Reads a file without liblmdb and without a lock, while another process may write it.
///
/// The pages of snapshot N are reused, at the earliest, by the writer that begins after transaction N+2 was committed. So what was
/// read is consistent if the file is still at N or N+1 afterwards.
enum LMDBUnlockedReading {
    /// How often reading is restarted because of commits.
    private static let maximumAttempts = 10

    /// Passes the file's newest snapshot to `body`, which may run several times.
    ///
    /// - Throws: the errors of `body` for a snapshot that did not change; those of
    ///   ``LMDBFileInspector/inspect(path:waitMilliseconds:)``; `.busy` if other processes wrote too much each time.
    static func run<R>(path: String, _ body: (LMDBPageSource, LMDBFileHeader) throws -> R) throws -> R {
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        for _ in 0..<maximumAttempts {
            let header = try LMDBFileInspector.soundHeader(source)
            let result = Result { try body(source, header) }
            let last = try LMDBFileInspector.soundHeader(source).current.transaction
            // Results from pages that were overwritten mean nothing, whether damage or records.
            if last <= header.current.transaction + 1 { return try result.get() }
        }
        throw LMDBError.error(
            .busy,
            "others write the file faster than it can be read; stop them, or try again",
            path: path
        )
    }
}
