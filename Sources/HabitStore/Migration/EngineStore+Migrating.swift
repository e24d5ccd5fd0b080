import DurableFiles
import Foundation

extension EngineStore {
    /// Takes the store through one stage, in one transaction, so that it always has either the old version or the new one. The store must be
    /// reopened afterwards.
    ///
    /// - Parameters:
    ///   - timestamp: the time of the hooks' changes in the history.
    ///   - progress: gets how many of the records to rewrite are done; an error that it throws undoes the stage.
    /// - Throws: the errors of the hooks; ``HabitStoreError/Code/schemaMismatch`` if the declarations do not say how to migrate;
    ///   ``HabitStoreError/Code/invalidValue`` and ``HabitStoreError/Code/uniqueViolation`` for a record that does not fit the new version. The
    ///   store is then unchanged.
    func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        let new = stage.to.earlierSchema
        let mapping = try SchemaMapping(from: schema, to: new, isCustom: stage.isCustom)
        var step = MigrationStep(
            from: schema.version,
            to: new.version,
            isCustom: stage.isCustom,
            changes: mapping.changes,
            drops: [],
            rewrittenRecords: 0,
            hookChanges: 0
        )
        try engine.reshape(to: new) { writer, reshape in
            try makeMigratable(writer)
            step.drops = try drops(writer, mapping)
            if case .custom(_, _, let willMigrate?, _) = stage {
                let transaction = EngineWriteTransaction(
                    writer,
                    schema: schema,
                    evaluatesPredicates: evaluatesPredicates
                )
                step.hookChanges += try transaction.hook(author: stage.author, timestamp) {
                    try willMigrate(transaction)
                }
            }
            let spool = try MigrationSpool(besideStore: engine.path ?? "")
            step.rewrittenRecords = try spoolRecords(writer, mapping, new, spool)
            let rewritten = mapping.rewritten(in: new)
            let replaced = rewritten.union(mapping.removed)
            for (position, entity) in schema.entities.enumerated() where replaced.contains(entity.name) {
                try writer.removeDigestLeaves(entity: position)
            }
            let reshaped = try reshape(rewritten)
            var done = 0
            let total = step.rewrittenRecords
            try spool.forEach { entity, record in
                try Self.insert(record, entity, new, reshaped)
                done += 1
                if done % 1_000 == 0 { try progress(done, total) }
            }
            try Self.requireUnique(mapping, new, reshaped)
            let ledger = DigestLedger(reshaped, new)
            try ledger.begin(mapping.entities.filter(\.isRewritten).map(\.target))
            try StoreBookkeeping.redescribe(reshaped, from: schema, to: new)
            try progress(total, total)
            if case .custom(_, _, _, let didMigrate?) = stage {
                let transaction = EngineWriteTransaction(
                    reshaped,
                    schema: new,
                    evaluatesPredicates: evaluatesPredicates
                )
                step.hookChanges += try transaction.hook(author: stage.author, timestamp) {
                    try engine.read { snapshot in
                        try EngineReadTransaction(snapshot, self).run { try didMigrate($0, transaction) }
                    }
                }
            }
        }
        return step
    }

    /// Refuses a store that cannot be migrated, and empties one that an unfinished import fills. The role does not matter otherwise, the version does:
    /// another process may have migrated the store meanwhile.
    private func makeMigratable(_ writer: Engine.Writer) throws {
        try requireUnmigrated(writer)
        try StoreBookkeeping.requireSchema(writer, schema, path: engine.path)
        guard try StoreBookkeeping.role(writer) == .backfilling else { return }
        let replica = EngineReplicaTransaction(writer, schema)
        // The next import of this kind keeps what is there; with another schema it begins again.
        guard UnfinishedImport(state: try replica.backfillState())?.kind != nil else {
            throw HabitStoreError(
                .unsupported,
                "a copy or an import into this store is not finished; run it again first, which finishes it, or delete the store",
                at: .init(path: engine.path)
            )
        }
        for entity in schema.entities.indices {
            var ids: [UUID] = []
            try replica.enumerate(entity: entity, after: nil) { id, _ in
                ids.append(id)
                return true
            }
            for id in ids { try replica.remove(entity: entity, id: id) }
        }
        try replica.finish()
    }

    /// What goes, counted before any hook could have emptied it.
    private func drops(_ writer: Engine.Writer, _ mapping: SchemaMapping) throws -> [MigrationDrop] {
        let replica = EngineReplicaSnapshot(writer, schema)
        var drops: [MigrationDrop] = []
        for (entity, dropped) in Dictionary(grouping: mapping.drops, by: \.entity).sorted(by: { $0.key < $1.key }) {
            let description = schema.entities[entity]
            var counted = dropped.map { drop in
                MigrationDrop(
                    entity: description.name,
                    attribute: drop.attribute.map { description.attributes[$0].name }
                )
            }
            // An entity that goes is alone here.
            if dropped[0].attribute == nil {
                counted[0].records = try replica.count(entity: entity)
                drops += counted
                continue
            }
            let positions = dropped.compactMap(\.attribute)
            try replica.enumerate(entity: entity, after: nil) { _, record in
                try record.withView(description.layout) { view in
                    for (place, position) in positions.enumerated()
                    where try view.hasValue(at: position, of: description) {
                        counted[place].records += 1
                    }
                }
                return true
            }
            drops += counted
        }
        return drops
    }

    /// Spools the records to rewrite, in their new form.
    private func spoolRecords(
        _ writer: Engine.Writer,
        _ mapping: SchemaMapping,
        _ new: Schema,
        _ spool: MigrationSpool
    ) throws -> Int {
        let replica = EngineReplicaSnapshot(writer, schema)
        var count = 0
        for entity in mapping.entities where entity.isRewritten {
            guard let source = entity.source else { continue }
            let layout = schema.entities[source].layout
            try replica.enumerate(entity: source, after: nil) { _, record in
                try spool.append(entity: entity.target, try entity.record(record, layout))
                count += 1
                return true
            }
        }
        return count
    }

    private static func insert(_ record: EncodedRecord, _ entity: Int, _ schema: Schema, _ writer: Engine.Writer) throws
    {
        try record.withView(schema.entities[entity].layout) { view in
            let id = try view.identifier()
            guard try writer.insert(entity: entity, id: id, record: view) else {
                throw HabitStoreError(
                    .internalInconsistency,
                    "a record was met twice while its store was migrated",
                    at: .init(entity: schema.entities[entity].name, id: id)
                )
            }
        }
    }

    /// Duplicates that an older version allowed are carried over, unless this version is the first to forbid them.
    private static func requireUnique(_ mapping: SchemaMapping, _ schema: Schema, _ writer: Engine.Writer) throws {
        for combination in mapping.newCombinations { try requireUnique(combination, schema, writer) }
        for (entity, attribute) in mapping.newlyUnique {
            let description = schema.entities[entity]
            try EngineReplicaSnapshot(writer, schema).enumerate(entity: entity, after: nil) { id, record in
                let value = try record.withView(description.layout) { try $0.value(at: attribute) }
                if value.isNull { return true }
                let found = try writer.identifiers(entity: entity, attribute: attribute, equalTo: value, limit: 2)
                guard let other = found.first(where: { $0 != id }) else { return true }
                let name = description.attributes[attribute].name
                throw HabitStoreError(
                    .uniqueViolation,
                    "two records, \(id.uuidString) and \(other.uuidString), have the same \(description.name).\(name), which the "
                        + "new schema version forbids; make them differ in a custom stage's willMigrate",
                    at: .init(entity: description.name, attribute: name, id: id)
                )
            }
        }
    }
}

extension EngineStore {
    private static func requireUnique(
        _ combination: UniqueCombination,
        _ schema: Schema,
        _ writer: Engine.Writer
    ) throws {
        let description = schema.entities[combination.entity]
        try EngineReplicaSnapshot(writer, schema).enumerate(entity: combination.entity, after: nil) { id, record in
            let values = try record.withView(description.layout) { try combination.values(of: $0) }
            guard let values, let other = try combination.record(with: values, besides: id, writer, schema) else {
                return true
            }
            throw HabitStoreError(
                .uniqueViolation,
                "two records, \(id.uuidString) and \(other.uuidString), have the same \(combination.title(schema)) of "
                    + "\(description.name), which the new schema version forbids together; make them differ in a custom "
                    + "stage's willMigrate",
                at: .init(
                    entity: description.name,
                    attribute: combination.positions.first.map {
                        description.attributes[$0].name
                    },
                    id: id
                )
            )
        }
    }
}

@_spi(Engines) extension EngineBackedStore {
    /// Takes the store through one stage of a migration.
    public func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try core.migrate(stage, timestamp: timestamp, progress: progress)
    }
}

extension RecordView {
    /// Whether any record has a value for an attribute.
    fileprivate func hasValue(at position: Int, of entity: EntityDescription) throws -> Bool {
        let value = try value(at: position)
        switch value {
        case .null, .string(""), .strings([]), .links([]): return false
        case .data(let bytes) where bytes.isEmpty: return false
        case .bool, .int, .double, .string, .date, .uuid, .data, .strings, .links:
            return value != entity.attributes[position].defaultValue
        }
    }
}

extension SchemaMapping {
    /// The names of the new version's entities whose records are rewritten.
    fileprivate func rewritten(in schema: Schema) -> Set<String> {
        Set(entities.filter(\.isRewritten).map { schema.entities[$0.target].name })
    }
}

extension MigrationStage {
    /// Who writes what the hooks change, in the history.
    fileprivate var author: String { Self.author(from: from.versionIdentifier, to: to.versionIdentifier) }

    fileprivate static func author(from: Schema.Version, to: Schema.Version) -> String { "migration \(from) to \(to)" }
}

extension HistoryTransaction {
    /// Whether a migration wrote it, by whatever plan.
    package var isMigration: Bool {
        let words = author?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 4, let from = Schema.Version(parsing: String(words[1])),
            let to = Schema.Version(parsing: String(words[3]))
        else { return false }
        return author == MigrationStage.author(from: from, to: to)
    }
}

extension EngineWriteTransaction {
    /// Runs a hook.
    ///
    /// - Returns: how many changes it came to.
    fileprivate func hook(author: String, _ timestamp: Date, _ body: () throws -> Void) throws -> Int {
        try run { _ in try body() }
        return try finish(author: author, timestamp: timestamp)?.changes.count ?? 0
    }
}

/// The records of a stage between their old place and their new one, in an unnamed file next to the store, which disappears however the
/// process ends. Its memory use does not grow with the store.
final class MigrationSpool {
    private let file: OpenFile
    private let path: String
    private var buffer = Data()

    private static let headerBytes = 8

    /// - Parameter path: the store's; the file lies in its folder.
    /// - Throws: ``HabitStoreError/Code/permissionDenied``, ``HabitStoreError/Code/full`` or
    ///   ``HabitStoreError/Code/inputOutput``.
    init(besideStore path: String) throws {
        let name = "\(path)-migrating-\(UUID().uuidString)"
        do {
            file = try OpenFile(newAt: name)
        } catch {
            throw Self.failure(error.number, path)
        }
        self.path = path
        guard unlink(name) == 0 else { throw Self.failure(errno, path) }
    }

    /// Adds a record: the entity's position u32, the number of bytes u32, the bytes.
    func append(entity: Int, _ record: EncodedRecord) throws {
        for number in [UInt32(entity), UInt32(record.bytes.count)] {
            withUnsafeBytes(of: number.littleEndian) { buffer.append(contentsOf: $0) }
        }
        buffer.append(contentsOf: record.bytes)
        if buffer.count >= OpenFile.chunkBytes { try flush() }
    }

    private func flush() throws {
        do {
            try file.write(buffer)
        } catch {
            throw Self.failure(error.number, path)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Hands what was added to `body`, in its order.
    func forEach(_ body: (_ entity: Int, EncodedRecord) throws -> Void) throws {
        try flush()
        var rest = Data()
        do {
            try file.forEachChunk { chunk, _ in
                rest.append(contentsOf: chunk)
                let used = try rest.withUnsafeBytes { try Self.records(in: $0, body) }
                rest = Data(rest.dropFirst(used))
                return true
            }
        } catch let failure as FileFailure {
            throw Self.failure(failure.number, path)
        }
        guard rest.isEmpty else {
            throw HabitStoreError(
                .inputOutput,
                "the file between old and new records was cut short",
                at: .init(path: path)
            )
        }
    }

    /// - Returns: how many bytes the whole records took.
    private static func records(
        in bytes: UnsafeRawBufferPointer,
        _ body: (_ entity: Int, EncodedRecord) throws -> Void
    ) throws -> Int {
        var offset = 0
        while bytes.count - offset >= headerBytes {
            func number(_ place: Int) -> Int {
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + place, as: UInt32.self)))
            }
            let (entity, count) = (number(0), number(4))
            let end = offset + headerBytes + count
            guard end <= bytes.count else { break }
            try body(
                entity,
                EncodedRecord(copying: UnsafeRawBufferPointer(rebasing: bytes[(offset + headerBytes)..<end]))
            )
            offset = end
        }
        return offset
    }

    private static func failure(_ number: Int32, _ path: String) -> HabitStoreError {
        let code: HabitStoreError.Code
        switch number {
        case ENOSPC, EDQUOT: code = .full
        case EACCES, EPERM, EROFS: code = .permissionDenied
        default: code = .inputOutput
        }
        return HabitStoreError(
            code,
            "the store is unchanged; the records could not be set aside in its folder: \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }
}
