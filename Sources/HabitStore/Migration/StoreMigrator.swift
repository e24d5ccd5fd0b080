import Foundation

/// Brings a store to the last version of a plan, stage by stage, each in one transaction.
///
/// A run that was stopped, or killed, leaves a store of one of the plan's versions; a later run goes on from there. Before
/// a stage with hooks a copy of the store is put beside it, unless there is one of the same version and token. Other
/// programs that have the store open are refused with their next transaction and have to open it anew.
public struct StoreMigrator<Store: FileBackedStore> {
    let path: String
    let plan: any SchemaMigrationPlan.Type
    let now: @Sendable () -> Date

    /// Prepares a migration.
    ///
    /// - Parameter now: the clock that stamps what hooks change, in the history.
    public init(path: String, plan: any SchemaMigrationPlan.Type, now: @escaping @Sendable () -> Date = { Date() }) {
        (self.path, self.plan, self.now) = (path, plan, now)
    }

    /// The stages that the store has to go through; none when it is of the plan's last version.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion``, ``HabitStoreError/Code/schemaMismatch`` for a version that the plan does
    ///   not have or whose records have another shape there; nothing is written.
    public func pending() throws -> [MigrationStage] {
        let outline = try Store.outline(ofStoreAt: path)
        let stages = try plan.stages(from: outline.version, path: path)
        // Found here, and not behind a copy.
        if let first = stages.first { try Store(path: path, schema: first.from.schema, access: .readOnly).close() }
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
            let store = try Store(path: path, schema: stage.from.schema, access: .readWrite)
            defer { store.close() }
            if stage.isCustom { outcome.backups.append(try backup(store)) }
            outcome.steps.append(
                try store.core.migrate(stage, timestamp: now()) { done, total in
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

    /// A copy beside the store, whose name says of which version and token it is; whole as soon as it has this name.
    private func backup(_ store: Store) throws -> String {
        let token = try store.replicaRead { try $0.information().token }
        let name = "\(path)-\(store.schema.version)-at-\(token)"
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
                    "the copy that a migration begins with cannot be put in its place; the store is as it was",
                    at: .init(path: name),
                    underlying: error
                )
        }
        return name
    }
}
