import Foundation
import HabitStore
import HabitStoreRollout

extension StoreAddress {
    /// Reads an address: `sqlite:PATH`, `lmdb:PATH`, or a path whose engine is recognised.
    ///
    /// - Throws: as ``HabitStore/Engines/address(parsing:)`` does.
    public init(parsing text: String) throws { self = try Engines.standard.address(parsing: text) }

    /// Opens the store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func open(_ access: StoreAccess, schema: Schema = HabitSchema.current) throws -> any UserStoreBackend {
        try Engines.standard.open(self, access, schema: schema)
    }

    /// Opens a store of whatever schema version, with the schema that it was written with.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func openAsWritten(
        _ access: StoreAccess,
        schema: Schema = HabitSchema.current
    ) throws -> any UserStoreBackend {
        try Engines.standard.openAsWritten(self, access, schema: schema)
    }

    /// What the store says of itself, whatever its schema. Nothing is written.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func outline() throws -> StoreOutline { try Engines.standard.outline(self) }

    /// The schema that the store's records have, whichever it is.
    ///
    /// - Throws: what is wrong with the file.
    public func storedSchema() throws -> StoredSchema { try Engines.standard.storedSchema(of: self) }

    /// Brings the store to the last version of a plan.
    public func migrate(
        _ plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() },
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationOutcome {
        try Engines.standard.migrate(self, plan, now: now, progress: progress)
    }

    /// Tries a migration out on a copy of the store.
    public func rehearseMigration(
        _ plan: any SchemaMigrationPlan.Type,
        in directory: String,
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationRehearsal {
        try Engines.standard.rehearseMigration(of: self, plan, in: directory, progress: progress)
    }
}
