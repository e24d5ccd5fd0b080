@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitStoreRollout
import StandardEngines

extension Engines {
    /// What the command knows: the standard engines, and servers.
    static let known: Engines = {
        do {
            return try Engines(Engines.standard.providers + [PostgresProvider()])
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

/// What `StandardEngines` has of addresses, for all engines that the command knows.
extension StoreAddress {
    /// Reads an address: `sqlite:PATH`, `lmdb:PATH`, `postgres://SERVER#NAME`, or a path whose engine is recognised.
    ///
    /// A server's may be written with the scheme that libpq gives it, too: taken for a path, it would be repeated with its password.
    init(parsing text: String) throws {
        let isURI = text.hasPrefix("postgresql://")
        self = try Engines.known.address(parsing: isURI ? "postgres:" + text.dropFirst("postgresql:".count) : text)
    }

    func open(_ access: StoreAccess, schema: Schema = HabitSchema.current) throws -> any UserStoreBackend {
        try Engines.known.open(self, access, schema: schema)
    }

    func openAsWritten(
        _ access: StoreAccess,
        schema: Schema = HabitSchema.current,
        by engines: Engines = .known
    ) throws -> any UserStoreBackend {
        try engines.openAsWritten(self, access, schema: schema)
    }

    func outline() throws -> StoreOutline { try Engines.known.outline(self) }

    func storedSchema() throws -> StoredSchema { try Engines.known.storedSchema(of: self) }
}
