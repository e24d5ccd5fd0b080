import Dispatch
import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The engine of ``LMDBHabitStore``: an LMDB environment in one file.
@_spi(Engines) public final class LMDBEngine: StorageEngine {
    /// The file's path, as given at opening.
    public let path: String?
    let environment: LMDBEnvironment
    let catalog: LMDBCatalog
    /// The writes that wait to share a commit.
    let commits: SharedCommit<LMDBTransaction>
    #if PLANNER_MUTANTS
    private let mutant: KeyPlannerMutant?
    #endif

    /// How to open a file.
    struct Options {
        var environment = LMDBOptions(isReadOnly: true)
        #if PLANNER_MUTANTS
        var mutant: KeyPlannerMutant?
        #endif
    }

    /// Opens a file; see ``LMDBHabitStore``.
    init(path: String, schema: Schema, options: Options) throws {
        self.path = path
        #if PLANNER_MUTANTS
        mutant = options.mutant
        #endif
        let parts = try schema.derived(LMDBSchemaParts.self) { try LMDBSchemaParts(schema) }
        var environmentOptions = options.environment
        // Doubled, for the indexes of older schemas that the file still has.
        environmentOptions.maxDatabases = max(64, parts.order.count * 2)
        let environment = try LMDBEnvironment.open(path: path, options: environmentOptions)
        self.environment = environment
        commits = SharedCommit(path: path) { environment.isOpen && $0.mayGoOn }
        do {
            let opening = LMDBOpening(
                environment: environment,
                schema: schema,
                parts: parts,
                isReadOnly: environmentOptions.isReadOnly
            )
            catalog = try opening.open()
        } catch {
            environment.close()
            throw error
        }
    }

    /// Runs `body` on a snapshot. Inside a write of the same thread, it sees the state before that write.
    public func read<R>(_ body: (LMDBSnapshot) throws -> R) throws -> R {
        try environment.withRead { transaction in
            let snapshot = try LMDBSnapshot(transaction, catalog)
            #if PLANNER_MUTANTS
            snapshot.mutant = mutant
            #endif
            return try body(snapshot)
        }
    }

    /// Throws if the path now leads to another file than the open one.
    public func requireInPlace() throws { try environment.requireInPlace() }

    /// Runs `body` as the only writer among all processes.
    public func write<R>(_ body: (LMDBWriter) throws -> R) throws -> R {
        try environment.withWrite { try run(body, $0) }
    }

    /// Runs `body` in a write transaction that other writers may share; all but the first run in a nested transaction.
    public func writeTogether<R>(_ body: (LMDBWriter) throws -> R) throws -> R {
        let deadline = environment.writeDeadline
        return try commits.write(
            until: deadline,
            leading: { gather in
                try environment.withWrite(until: deadline) { transaction in
                    let beginning = DispatchTime.now().uptimeNanoseconds
                    let result = try run(body, transaction)
                    transaction.closeCursors()
                    gather(transaction, beginning)
                    return result
                }
            },
            joining: { transaction in
                try transaction.core.lendingWriterLock { try transaction.withNested { try run(body, $0) } }
            }
        )
    }

    private func run<R>(_ body: (LMDBWriter) throws -> R, _ transaction: LMDBTransaction) throws -> R {
        let writer = try LMDBWriter(transaction, catalog)
        guard writer.hasAllIndexes else {
            throw LMDBError.error(
                .schemaMismatch,
                "a program with other indexes has opened the store meanwhile; open it again",
                path: catalog.path
            )
        }
        return try body(writer)
    }

    /// Writes a consistent copy to an unused path.
    public func backup(to path: String) throws { try environment.copy(to: path, compact: false) }

    /// Closes the file, after the transactions in progress.
    public func close() { environment.close() }
}

/// Identifies an opened environment, turns a new one into a store, and completes its indexes.
struct LMDBOpening {
    let environment: LMDBEnvironment
    let schema: Schema
    let parts: LMDBSchemaParts
    let isReadOnly: Bool

    /// How often damage must be found to count.
    private static let looks = 3

    private var path: String { environment.path }

    /// - Throws: `.corrupt` for a damaged file; `.notAStore` for an environment of another program, which remains unchanged;
    ///   `.newerVersion` for a later format; `.schemaMismatch` if the store has another schema.
    func open() throws -> LMDBCatalog {
        try requireSoundStructure()
        if let catalog = try completeCatalog() { return catalog }
        let metadata = try openMetadata()
        // A caller without entities wants the store's outline, whatever its schema.
        if schema.entities.isEmpty { return catalog(metadata, try openDatabases()) }
        if let databases = try existingDatabases() {
            let catalog = catalog(metadata, databases)
            if try isReadOnly || listedIndexes(catalog) == catalog.keys.indexList { return catalog }
        }
        // Before creating or building anything for a schema that the store does not have.
        let bookkeeping = catalog(metadata, [:])
        try environment.withRead { try LMDBSnapshot($0, bookkeeping).requireSchema(schema, path: path) }
        try requireWhole(bookkeeping)
        let catalog = catalog(metadata, try openDatabases())
        if !isReadOnly { try completeIndexes(catalog) }
        return catalog
    }

    /// Throws for a store without records or a history that it claims to have: recreating them empty would silently lose their
    /// contents. A missing index is not listed as complete, so it is rebuilt rather than considered empty.
    private func requireWhole(_ bookkeeping: LMDBCatalog) throws {
        guard try environment.withRead({ try LMDBSnapshot($0, bookkeeping).isInitialized }) else { return }
        for name in schema.entities.map(\.name) + [LMDBFormat.history] where try openExisting(name) == nil {
            throw LMDBError.error(
                .corrupt,
                "the store's database \(name) is gone; restore a backup",
                path: path,
                entity: name == LMDBFormat.history ? nil : name
            )
        }
        guard !isReadOnly, let listed = try listedIndexes(bookkeeping) else { return }
        let lines = listed.split(separator: UInt8(ascii: "\n"))
        let present = try lines.filter { line in
            let names = Array(line).withUnsafeBytes(KeyFormat.indexNames).keys
            return try names.allSatisfy { try openExisting($0) != nil }
        }
        guard present.count < lines.count else { return }
        try environment.withWrite { transaction in
            let list = Array(present.joined(separator: [UInt8(ascii: "\n")]))
            try transaction.put(bookkeeping.metadata, Array(KeyFormat.indexesKey.utf8), list)
        }
    }

    private func catalog(_ metadata: LMDBDatabase, _ databases: [String: LMDBDatabase]) -> LMDBCatalog {
        let tables = LMDBTables(parts.keys, metadata: metadata, databases: databases)
        return LMDBCatalog(schema: schema, path: path, tables: tables)
    }

    /// The catalog of a file with this format, all databases, and complete indexes of this schema. This is the case for nearly all
    /// openings, which share what was derived from the schema.
    ///
    /// - Returns: nil for any other file.
    private func completeCatalog() throws -> LMDBCatalog? {
        guard !schema.entities.isEmpty, try environment.openDatabases(inOrder: parts.order) else { return nil }
        let tables = parts.tables
        let isComplete = try environment.withRead { transaction in
            func holds(_ key: String, _ value: some Collection<UInt8>) throws -> Bool {
                try key.withKeyBytes { key in
                    try transaction.get(tables.metadata, key).map { $0.elementsEqual(value) } ?? false
                }
            }
            return try holds(LMDBFormat.formatKey, LMDBFormat.current.utf8)
                && holds(KeyFormat.indexesKey, tables.keys.indexList)
        }
        return isComplete ? LMDBCatalog(schema: schema, path: path, tables: tables) : nil
    }

    /// liblmdb trusts the file and crashes on bad contents, so every page is checked first, unless that was done before and only
    /// commits have changed the file since.
    private func requireSoundStructure() throws {
        guard try !environment.isMarkedSound() else { return }
        let beginning = try environment.soundnessBeforeWalk()
        try lookingAgain {
            let findings = try LMDBFileInspector.walk(path: path)
            guard let damage = findings.first(where: { $0.severity == .damage }) else { return }
            throw LMDBError.error(.corrupt, "the file is damaged (\(damage.description)); restore a copy", path: path)
        }
        if let beginning { try environment.markSound(since: beginning) }
    }

    /// Another process may be writing a meta page while this one reads it: damage counts only if it is found every time.
    private func lookingAgain<R>(_ look: () throws -> R) throws -> R {
        for _ in 1..<Self.looks {
            do { return try look() } catch let error as HabitStoreError where error.code == .corrupt { continue }
        }
        return try look()
    }

    // MARK: The format

    private func openMetadata() throws -> LMDBDatabase {
        let entries = try environment.mainEntries()
        let found: LMDBDatabase?
        do {
            found = try environment.openDatabases(names: [LMDBFormat.metadata], create: entries == 0).first
        } catch let error as HabitStoreError where Self.meansForeign(error) {
            try LMDBFormat.require(nil, path: path)
            throw error
        }
        guard let found else { throw LMDBError.error(.notFound, "the bookkeeping cannot be opened", path: path) }
        let (format, isBare) = try environment.withRead { transaction in
            (try text(transaction, found), entries <= 1 ? try transaction.count(found) == 0 : false)
        }
        // Left by a process that died while it created the store: only the bookkeeping's database, empty.
        if format == nil, isBare, !isReadOnly { return try writeFormat(found) }
        try LMDBFormat.require(format, path: path)
        return found
    }

    private static func meansForeign(_ error: HabitStoreError) -> Bool {
        // A database with this name and sorted duplicates also belongs to another program.
        [.notFound, .unsupported, .internalInconsistency].contains(error.code)
            || error.underlying as? LMDBFailure == .otherOrder
    }

    private func text(_ transaction: LMDBTransaction, _ metadata: LMDBDatabase) throws -> String? {
        try LMDBFormat.formatKey.withKeyBytes { key in
            try transaction.get(metadata, key).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func writeFormat(_ metadata: LMDBDatabase) throws -> LMDBDatabase {
        let format = try environment.withWrite { transaction in
            try transaction.put(
                metadata,
                Array(LMDBFormat.formatKey.utf8),
                Array(LMDBFormat.current.utf8),
                mode: .noOverwrite
            )
            return try text(transaction, metadata)
        }
        try LMDBFormat.require(format, path: path)
        return metadata
    }

    // MARK: Databases

    /// All databases of the schema; nil if one is missing.
    private func existingDatabases() throws -> [String: LMDBDatabase]? {
        do {
            return byName(try environment.openDatabases(names: parts.names, create: false))
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    private func byName(_ databases: [LMDBDatabase]) -> [String: LMDBDatabase] {
        Dictionary(uniqueKeysWithValues: databases.map { ($0.name, $0) })
    }

    private func openDatabases() throws -> [String: LMDBDatabase] {
        do {
            return byName(try environment.openDatabases(names: parts.names, create: !isReadOnly))
        } catch let error as HabitStoreError where error.code == .notFound && isReadOnly {
            var found: [String: LMDBDatabase] = [:]
            for name in parts.names { found[name] = try openExisting(name) }
            return found
        }
    }

    private func openExisting(_ name: String) throws -> LMDBDatabase? {
        do {
            return try environment.openDatabases(names: [name], create: false).first
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    // MARK: Indexes

    /// The names of the complete indexes, as stored in the file.
    private func listedIndexes(_ catalog: LMDBCatalog) throws -> [UInt8]? {
        try environment.withRead { transaction in
            try KeyFormat.indexesKey.withKeyBytes { try transaction.get(catalog.metadata, $0).map(Array.init) }
        }
    }

    /// Builds the indexes that an older schema did not declare or declared differently, and empties those that this schema no
    /// longer declares: the listed indexes are exactly the complete ones.
    private func completeIndexes(_ catalog: LMDBCatalog) throws {
        let listed = try listedIndexes(catalog)
        guard listed != catalog.keys.indexList else { return }
        let names = listed.map { Set($0.withUnsafeBytes(KeyFormat.indexNames).keys) } ?? []
        let abandoned = try names.subtracting(catalog.keys.indexNames).sorted().compactMap { try openExisting($0) }
        do {
            try environment.withWrite { transaction in
                let writer = try LMDBWriter(transaction, catalog)
                for database in abandoned { try transaction.removeAll(database) }
                for table in catalog.tables {
                    for index in table.indexes
                    where !writer.isComplete(index) || writer.holdsCopies(index) != index.isClustering {
                        try build(index, table, writer)
                    }
                }
                try transaction.put(catalog.metadata, Array(KeyFormat.indexesKey.utf8), catalog.keys.indexList)
            }
        } catch let error as HabitStoreError where names == catalog.keys.indexNames && Self.leavesIndexes(error) {
            // All indexes exist, with or without copies, and are used unchanged: a slow store is better than one that does not
            // open.
            return
        }
    }

    /// Whether an existing index can still be used after rebuilding it failed.
    private static func leavesIndexes(_ error: HabitStoreError) -> Bool {
        [.corrupt, .full, .limitExceeded, .inputOutput, .busy, .outcomeUnknown].contains(error.code)
    }

    private func build(_ index: KeyIndex, _ table: KeyTable, _ writer: LMDBWriter) throws {
        let transaction = writer.transaction
        try transaction.removeAll(try writer.catalog.database(index))
        try transaction.forEach(try writer.catalog.records(table)) { record in
            let row = try writer.view(table, record.key, record.value)
            try writer.addKeys(index, row, record.key, copies: index.isClustering)
            return true
        }
    }
}

@_spi(Engines) extension LMDBEngine {
    /// Runs `body` in one write transaction, first on this schema's databases, then on those of another.
    ///
    /// The databases of the other schema are created beforehand, because LMDB makes their handles available only after a commit.
    /// Empty ones that remain after a failure are not part of the store.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: LMDBWriter, _ reshaped: (Set<String>) throws -> LMDBWriter) throws -> R
    ) throws -> R {
        try schema.validate()
        let parts = try schema.derived(LMDBSchemaParts.self) { try LMDBSchemaParts(schema) }
        let databases = try environment.openDatabases(names: parts.names, create: true)
        let tables = LMDBTables(
            parts.keys,
            metadata: catalog.metadata,
            databases: Dictionary(uniqueKeysWithValues: databases.map { ($0.name, $0) })
        )
        let newCatalog = LMDBCatalog(schema: schema, path: catalog.path, tables: tables)
        return try write { writer in
            try body(writer) { rewritten in
                let transaction = writer.transaction
                let kept = Set(newCatalog.tables.map(\.name)).subtracting(rewritten)
                // Databases under the other schema's new names must be empty too: a file can contain anything.
                for catalog in [catalog, newCatalog] {
                    for table in catalog.tables where !kept.contains(table.name) {
                        try transaction.removeAll(try catalog.records(table))
                        for index in table.indexes { try transaction.removeAll(try catalog.database(index)) }
                    }
                }
                try transaction.put(catalog.metadata, Array(KeyFormat.indexesKey.utf8), newCatalog.keys.indexList)
                return try LMDBWriter(transaction, newCatalog)
            }
        }
    }
}
