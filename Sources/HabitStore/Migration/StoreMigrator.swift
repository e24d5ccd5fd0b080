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
    public func pending() throws -> [MigrationStage] { try migration.pending() }

    /// Runs the stages that are pending.
    ///
    /// - Parameter progress: a throw stops the run, and undoes the stage that is under way.
    /// - Returns: what was done; nothing for a store of the plan's last version.
    /// - Throws: as ``pending()`` does, and what the stages throw.
    public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationOutcome {
        try migration.run(progress: progress)
    }

    /// Tries the pending stages out on a copy of the store, and compares both. The store is not touched.
    ///
    /// - Parameters:
    ///   - directory: where the copy is made, which is removed again; it needs the space of the store, twice.
    ///   - progress: as for ``run(progress:)``.
    /// - Throws: what running the stages would throw.
    public func rehearse(
        in directory: String,
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationRehearsal {
        try migration.rehearse(in: directory, progress: progress) { copy in
            StoreMigrator(path: copy, plan: plan, now: now).migration
        }
    }

    private var migration: OpenedMigration {
        OpenedMigration(path: path, plan: plan, now: now) {
            try Store.outline(ofStoreAt: path).version
        } open: { schema, access in
            try Store(path: path, schema: schema, access: access)
        }
    }
}
