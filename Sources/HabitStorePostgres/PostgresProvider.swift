import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// A server that speaks PostgreSQL's protocol.
    public static let postgres: EngineName = "postgres"
}

/// A server that speaks PostgreSQL's protocol, for whatever opens users' stores. Two servers are two providers, with a name each:
/// `postgres-eu`, `postgres-us`.
public struct PostgresProvider: EngineProvider {
    private let engineName: EngineName
    private let server: String

    /// Offers a server as an engine.
    ///
    /// - Parameters:
    ///   - name: what flag files and addresses call it.
    ///   - server: a connection URI of libpq's without a password; what it does not say is taken from the environment. It is where
    ///     users' stores are; an address may name another server.
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a URI with a password.
    public init(name: EngineName = .postgres, server: String = "postgresql://") throws {
        engineName = name
        self.server = try PostgresPlace.server(server)
    }
}

@_spi(Engines) extension PostgresProvider {
    /// What flag files and addresses call the server.
    public var name: EngineName { engineName }

    /// None: connections belong to the server, and not to a store.
    public var cost: EngineCost { EngineCost(fileDescriptors: 0) }

    /// They are wherever the server is reached from.
    public var isShared: Bool { true }

    /// The user's id, on this server; the separator of what is no user's own stands twice in it.
    public func place(ofUser user: String, inFolder folder: String) -> String {
        let name = user.replacing(PostgresPlace.separator, with: PostgresPlace.separator + PostgresPlace.separator)
        return PostgresPlace(server: server, name: name).description
    }

    /// The store's name with the copy's behind it, on the server where the store is.
    public func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String {
        (try? PostgresPlace(parsing: place).beside(name).description) ?? place + name
    }

    /// The identity that the store was given when it was made.
    public func identity(at place: String) throws -> StoreIdentity? {
        do {
            return withUnsafeBytes(of: try outline(at: place).information.storeID.uuid) {
                StoreIdentity($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    /// Every transaction asks the server, which says by itself that a store is gone.
    public func holds(_ identity: StoreIdentity, at place: String) -> Bool { true }

    /// No file is.
    public func recognizes(_ head: Data) -> Bool { false }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try PostgresHabitStore(
            PostgresPlace(parsing: place),
            schema: schema,
            options: .init(isReadOnly: access == .readOnly, createsStore: access == .create)
        )
    }

    /// What a store says of itself.
    public func outline(at place: String) throws -> StoreOutline {
        try PostgresHabitStore.outline(of: PostgresPlace(parsing: place))
    }

    /// Whether the server takes writes now: a host that does is looked for when connecting.
    public func mayWrite(_ place: String) -> Bool {
        (try? PostgresServer(PostgresPlace(parsing: place).server).check()) != nil
    }

    /// Gives a store another name on the same server.
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
