import Foundation
import HabitStore

extension Engines {
    /// Brings a store to the last version of a plan; see ``HabitStore/StoreMigrator``.
    ///
    /// - Parameters:
    ///   - now: the clock that stamps what hooks change, in the history.
    ///   - progress: a throw undoes the stage that is under way.
    public func migrate(
        _ address: StoreAddress,
        _ plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() },
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationOutcome {
        try migration(address, plan, now).run(progress: progress)
    }

    /// Tries a migration out on a copy of a store; see ``HabitStore/StoreMigrator/rehearse(in:progress:)``.
    public func rehearseMigration(
        of address: StoreAddress,
        _ plan: any SchemaMigrationPlan.Type,
        in directory: String,
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationRehearsal {
        try migration(address, plan) { Date() }
            .rehearse(in: directory, progress: progress) { copy in
                migration(StoreAddress(address.engine, path: copy), plan) { Date() }
            }
    }

    /// The version of a store's schema, as the file says it or, where it says nothing to the engine, as it is opened.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    func version(of address: StoreAddress, _ plan: any SchemaMigrationPlan.Type) throws -> Schema.Version {
        try migration(address, plan) { Date() }.version()
    }

    private func migration(
        _ address: StoreAddress,
        _ plan: any SchemaMigrationPlan.Type,
        _ now: @escaping @Sendable () -> Date
    ) -> OpenedMigration {
        OpenedMigration(path: address.path, plan: plan, now: now) {
            try outline(address).version
        } open: { schema, access in
            try open(address, access, schema: schema)
        }
    }
}
