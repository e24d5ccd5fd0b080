import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

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
