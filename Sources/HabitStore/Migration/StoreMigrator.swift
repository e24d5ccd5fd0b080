import DurableFiles
import Foundation

/// Migrates a store to the last version of a plan, stage by stage, each in one transaction.
///
/// A run that was stopped or killed leaves a store of one of the plan's versions, and a later run continues from there. Before a
/// stage with hooks, or one that drops an attribute or an entity, the store is copied to a place next to it, unless there is a copy
/// of the same version and token. The next transaction of any other program that has the store open throws; it must reopen the
/// store.
public struct StoreMigrator {
    let path: String
    let plan: any SchemaMigrationPlan.Type
    let now: @Sendable () -> Date
    private let outline: (String) throws -> Schema.Version
    let open: (String, Schema, StoreAccess) throws -> any UserStoreBackend
    /// The engines for a store that is not a file.
    private let engines: (all: Engines, name: EngineName)?

    /// Prepares a migration of the store at an address.
    ///
    /// - Parameters:
    ///   - engines: of which the store's is one.
    ///   - now: the clock that stamps what hooks change, in the history.
    public init(
        _ address: StoreAddress,
        engines: Engines,
        plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        let isFile = (try? engines.provider(address.engine)) is any FileEngineProvider
        self.init(path: address.path, plan: plan, now: now, engines: isFile ? nil : (engines, address.engine)) {
            try engines.outline(StoreAddress(address.engine, path: $0)).version
        } open: { path, schema, access in
            try engines.open(StoreAddress(address.engine, path: path), access, schema: schema)
        }
    }

    /// Prepares a migration of a file of an engine.
    ///
    /// - Parameter now: the clock that stamps what hooks change, in the history.
    @_spi(Engines) public init<Store: FileBackedStore>(
        _ type: Store.Type,
        path: String,
        plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(path: path, plan: plan, now: now, engines: nil) {
            try Store.outline(ofStoreAt: $0).version
        } open: { path, schema, access in
            try Store(path: path, schema: schema, access: access)
        }
    }

    private init(
        path: String,
        plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date,
        engines: (all: Engines, name: EngineName)?,
        outline: @escaping (String) throws -> Schema.Version,
        open: @escaping (String, Schema, StoreAccess) throws -> any UserStoreBackend
    ) {
        (self.path, self.plan, self.now, self.outline, self.open) = (path, plan, now, outline, open)
        self.engines = engines
    }

    /// The same migration, of a copy of the store.
    func copied(to path: String) -> StoreMigrator {
        StoreMigrator(path: path, plan: plan, now: now, engines: engines, outline: outline, open: open)
    }

    /// Where a copy of the store is put for a while.
    func copy(inFolder folder: String) -> String {
        guard let (all, engine) = engines else { return "\(folder)/store" }
        let name = "migration-\(UUID().uuidString)"
        return all.address(ofCopy: name, of: StoreAddress(engine, path: path), inFolder: folder).path
    }

    /// Removes copies that are not gone with their folder.
    package func discard(_ copies: [String]) throws {
        guard let (all, engine) = engines else { return }
        for copy in copies { try all.discard(StoreAddress(engine, path: copy)) }
    }

    /// The version of the store's schema. A file that says nothing to the engine may be one that only its app can read: that
    /// one is asked by opening it.
    ///
    /// - Throws: what is wrong with the file, as opening it with the plan's last version says.
    package func version() throws -> Schema.Version {
        do {
            return try outline(path)
        } catch let failure as HabitStoreError {
            var refusal: HabitStoreError?
            for version in plan.schemas.reversed() {
                do {
                    try open(path, version.earlierSchema, .readOnly).close()
                    return version.versionIdentifier
                } catch let error as HabitStoreError where Self.otherVersion.contains(error.code) {
                    refusal = refusal ?? error
                }
            }
            throw refusal ?? failure
        }
    }

    /// The errors of opening a store with another version's schema than its own.
    private static let otherVersion: Set<HabitStoreError.Code> = [.migrationRequired, .newerVersion, .schemaMismatch]

    /// The stages that the store has to go through; none when it is of the plan's last version.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion``, ``HabitStoreError/Code/schemaMismatch`` for a version that the plan does
    ///   not have or whose records have another shape there; nothing is written.
    public func pending() throws -> [MigrationStage] {
        try plan.current().validate()
        let stages = try plan.stages(from: try version(), path: path)
        // Found here rather than after a copy.
        if let first = stages.first { try open(path, first.from.earlierSchema, .readOnly).close() }
        return stages
    }

    /// Runs the stages that are pending.
    ///
    /// - Parameter progress: a throw stops the run, and undoes the stage that is under way.
    /// - Returns: what was done; nothing for a store of the plan's last version.
    /// - Throws: as ``pending()`` does, and what the stages throw.
    public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationOutcome {
        let stages = try pending()
        var outcome = MigrationOutcome(version: try plan.current().version, steps: [], backups: [])
        for (place, stage) in stages.enumerated() {
            let store = try open(path, stage.from.earlierSchema, .readWrite)
            defer { store.close() }
            let mapping = try SchemaMapping(
                from: store.schema,
                to: stage.to.earlierSchema,
                isCustom: stage.isCustom
            )
            if stage.isCustom || !mapping.drops.isEmpty { outcome.backups.append(try backup(store)) }
            outcome.steps.append(
                try store.migrate(stage, timestamp: now()) { done, total in
                    try progress(
                        MigrationProgress(
                            to: stage.to.versionIdentifier,
                            stage: place + 1,
                            stages: stages.count,
                            done: done,
                            total: total
                        )
                    )
                }
            )
        }
        return outcome
    }

    /// Copies the store to a place next to it. The name of the copy contains its version and token; a copy with this name is
    /// complete.
    private func backup(_ store: any UserStoreBackend) throws -> String {
        let token = try store.replicaRead { try $0.information().token }
        let version = "\(store.schema.version)-at-\(token)"
        if let (all, engine) = engines {
            let folder = DurableFile.folder(of: path)
            let copy = all.address(ofCopy: version, of: StoreAddress(engine, path: path), inFolder: folder)
            // A copy that exists is complete.
            if try all.identity(of: copy) == nil { try store.backup(to: copy.path) }
            return copy.path
        }
        let name = "\(path)-\(version)"
        if FileManager.default.fileExists(atPath: name) { return name }
        let draft = "\(name)-\(UUID().uuidString)"
        do {
            try store.backup(to: draft)
            try FileManager.default.moveItem(atPath: draft, toPath: name)
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw (error as? HabitStoreError)
                ?? HabitStoreError(
                    .inputOutput,
                    "the backup that a migration starts with cannot be put in its place; the store is unchanged",
                    at: .init(path: name),
                    underlying: error
                )
        }
        return name
    }
}

/// How far a migration has come.
public struct MigrationProgress: Sendable {
    /// The version that the stage leads to.
    public let to: Schema.Version
    /// The number of the stage, from 1.
    public let stage: Int
    /// How many stages there are.
    public let stages: Int
    /// How many records were rewritten.
    public let done: Int
    /// How many have to be.
    public let total: Int
}

/// The result of a migration.
public struct MigrationOutcome: Sendable, Hashable, Codable {
    /// The version that the store has reached.
    public let version: Schema.Version
    /// The stages, in order; none when the store was of that version already.
    public internal(set) var steps: [MigrationStep]
    /// The copies of the store made before stages that have hooks or drop something.
    public internal(set) var backups: [String]
}
