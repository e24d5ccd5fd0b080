import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// A server that speaks PostgreSQL's protocol.
    public static let postgres: EngineName = "postgres"
}

/// Opens users' stores on a server that speaks PostgreSQL's protocol. Two servers need two providers with different names:
/// `postgres-eu`, `postgres-us`.
public struct PostgresProvider: EngineProvider {
    private let engineName: EngineName
    private let server: String

    /// Creates the provider for a server.
    ///
    /// - Parameters:
    ///   - name: the name in flag files and addresses.
    ///   - server: a libpq connection URI without a password; missing settings come from the environment. Users' stores are on this
    ///     server; an address may name another one.
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a URI with a password.
    public init(name: EngineName = .postgres, server: String = "postgresql://") throws {
        engineName = name
        self.server = try PostgresPlace.server(server)
    }
}

@_spi(Engines) extension PostgresProvider {
    /// The server's name in flag files and addresses.
    public var name: EngineName { engineName }

    /// Zero: connections belong to the server, not to a store.
    public var cost: EngineCost { EngineCost(fileDescriptors: 0) }

    /// Always true: every machine that reaches the server reaches its stores.
    public var isShared: Bool { true }

    /// The user's id on this server, with the separator of copies doubled.
    public func place(ofUser user: String, inFolder folder: String) -> String {
        let name = user.replacing(PostgresPlace.separator, with: PostgresPlace.separator + PostgresPlace.separator)
        return PostgresPlace(server: server, name: name).description
    }

    /// The store's name followed by the copy's, on the store's server.
    public func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String {
        (try? PostgresPlace(parsing: place).beside(name).description) ?? place + name
    }

    /// The identity that the store was given at its creation.
    public func identity(at place: String) throws -> StoreIdentity? {
        do {
            return withUnsafeBytes(of: try outline(at: place).information.storeID.uuid) {
                StoreIdentity($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    /// Always true: every transaction queries the server, which reports if a store is gone.
    public func holds(_ identity: StoreIdentity, at place: String) -> Bool { true }

    /// Always false: a store is not a file.
    public func recognizes(_ head: Data) -> Bool { false }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try PostgresHabitStore(
            PostgresPlace(parsing: place),
            schema: schema,
            options: .init(isReadOnly: access == .readOnly, createsStore: access == .create)
        )
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline {
        try PostgresHabitStore.outline(of: PostgresPlace(parsing: place))
    }

    /// Whether the server accepts writes now: connecting looks for a host that does.
    public func mayWrite(_ place: String) -> Bool {
        (try? PostgresServer(PostgresPlace(parsing: place).server).check()) != nil
    }

    /// Renames a store on the same server.
    public func setAside(_ place: String, as suffix: String) throws -> String {
        let place = try PostgresPlace(parsing: place)
        let server = try PostgresServer(place.server)
        var aside = place.beside(suffix)
        while try identity(at: aside.description) != nil { aside = aside.beside(suffix) }
        try server.move(place, to: aside)
        return aside.description
    }

    /// Copies a store to another name on the same server.
    public func copy(_ place: String, to target: String) throws {
        let place = try PostgresPlace(parsing: place)
        try PostgresServer(place.server).copy(place, to: PostgresPlace(parsing: target))
    }

    /// Removes a store's rows.
    public func remove(_ place: String) throws {
        let place = try PostgresPlace(parsing: place)
        try PostgresServer(place.server).remove(place)
    }
}
