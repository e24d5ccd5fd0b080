import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreRollout
import HabitStoreSQLite
import ShadowVerifier

extension Engines {
    /// The engines SQLite and LMDB.
    public static let standard: Engines = {
        do {
            return try Engines([SQLiteProvider(), LMDBProvider()])
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

extension UserStores {
    /// Users' stores under `root`, with SQLite and LMDB; see ``HabitStoreRollout/UserStores/init(root:store:flags:engines:schema:queries:options:)``.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: String?,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            flags: flags,
            engines: .standard,
            schema: schema,
            queries: queries,
            options: options
        )
    }

    /// Users' stores under `root`, with SQLite and LMDB and flags from any origin.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: FlagOrigin,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            flags: flags,
            engines: .standard,
            schema: schema,
            queries: queries,
            options: options
        )
    }
}

/// For code that concerns only these two engines: sweeps over both, and tests.
extension EngineName {
    /// SQLite and LMDB.
    package static let standard = Engines.standard.names

    /// The other engine of the two.
    package var otherStandard: EngineName { Engines.standard.pair(old: self).new }

    /// The name of a user's store file with this engine.
    package var fileName: String { "store.\(rawValue)" }
}

extension UserDirectory {
    /// The address of the user's store with an engine.
    package func address(_ engine: EngineName) -> StoreAddress {
        Engines.standard.address(engine, ofUser: user, inFolder: path)
    }
}

extension StoreAddress {
    /// Parses an address: `sqlite:PATH`, `lmdb:PATH`, or a path whose engine is recognised.
    ///
    /// - Throws: the errors of ``HabitStore/Engines/address(parsing:)``.
    public init(parsing text: String) throws { self = try Engines.standard.address(parsing: text) }

    /// Opens the store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func open(_ access: StoreAccess, schema: Schema) throws -> any UserStoreBackend {
        try Engines.standard.open(self, access, schema: schema)
    }

    /// Opens a store of any schema version, with the schema that it was written with.
    ///
    /// - Parameter plan: has the schemas of versions whose stores do not contain theirs; nil if there are none.
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func openAsWritten(
        _ access: StoreAccess,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?
    ) throws -> any UserStoreBackend {
        try Engines.standard.openAsWritten(self, access, schema: schema, plan: plan)
    }

    /// The store's outline, whatever its schema. Nothing is written.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func outline() throws -> StoreOutline { try Engines.standard.outline(self) }

    /// The schema that the store's records have.
    ///
    /// - Parameter plan: has the schemas of stores of the first format, which do not contain theirs.
    /// - Throws: what is wrong with the file.
    public func storedSchema(plan: (any SchemaMigrationPlan.Type)? = nil) throws -> StoredSchema {
        try Engines.standard.storedSchema(of: self, plan: plan)
    }

    /// Creates a migrator that brings the store to the last version of a plan.
    ///
    /// - Parameter now: the clock for the hooks' changes in the history.
    public func migrator(
        _ plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> StoreMigrator {
        StoreMigrator(self, engines: .standard, plan: plan, now: now)
    }
}
