@_spi(Engines) import HabitStore
import HabitStoreRollout

extension Engines {
    /// All engines of the tool: those for users, and those for servers.
    package static var known: Engines { Tool.current.known }
}

/// Stores named on the command line, opened by the tool's engines.
extension StoreAddress {
    /// Parses an address: `sqlite:PATH`, `lmdb:PATH`, `postgres://SERVER#NAME`, or a path whose engine is recognised.
    ///
    /// A server's address may also have the scheme `postgresql`, as in libpq.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an address with a password; other errors of the address.
    package init(argument text: String) throws {
        if text.contains("://"), Passwords.isIn(text) { throw Passwords.refusal(of: text) }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        let isURI = (scheme == "postgresql" || scheme == "postgres") && text.dropFirst(scheme.count).hasPrefix("://")
        self = try Engines.known.address(parsing: isURI ? "postgres" + text.dropFirst(scheme.count) : text)
    }

    package func open(
        _ access: StoreAccess,
        schema: Schema,
        by engines: Engines
    ) throws -> any UserStoreBackend {
        try engines.open(self, access, schema: schema)
    }

    /// Opens the store with the tool's schema, or otherwise with the one that it was written with.
    package func openAsWritten(_ access: StoreAccess, by engines: Engines) throws -> any UserStoreBackend {
        try engines.openAsWritten(self, access, schema: Tool.current.schema, plan: Tool.current.plan)
    }

    package func outline(by engines: Engines) throws -> StoreOutline { try engines.outline(self) }

    func storedSchema(by engines: Engines) throws -> StoredSchema {
        try engines.storedSchema(of: self, plan: Tool.current.plan)
    }
}
