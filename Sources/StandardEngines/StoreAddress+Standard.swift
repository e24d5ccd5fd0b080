import Foundation
@_spi(Engines) import HabitStore
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

    /// What brings the store to the last version of a plan.
    ///
    /// - Parameter now: the clock that stamps what hooks change, in the history.
    public func migrator(
        _ plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> StoreMigrator {
        StoreMigrator(self, engines: .standard, plan: plan, now: now)
    }
}
