import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStorePostgres

/// A server whose stores are named after users' folders, or after a test and its users: each test has its own "alice". The names include the
/// engine's, so that two engines can share a server.
package struct FolderServer: EngineProvider {
    private let base: PostgresProvider
    private let server: String
    private let test: String?

    /// - Parameter test: what the stores' names begin with, regardless of the folder.
    package init(name: EngineName = .postgres, server: String, test: String? = nil) throws {
        base = try PostgresProvider(name: name, server: server)
        (self.server, self.test) = (server, test)
    }

    package var name: EngineName { base.name }
    package var cost: EngineCost { base.cost }
    package var isShared: Bool { base.isShared }

    package func place(ofUser user: String, inFolder folder: String) -> String {
        PostgresPlace(server: server, name: "\(name.rawValue) \(test.map { "\($0) \(user)" } ?? folder)").description
    }

    package func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String {
        base.place(ofCopy: name, inFolder: folder, beside: place)
    }

    package func identity(at place: String) throws -> StoreIdentity? { try base.identity(at: place) }
    package func holds(_ identity: StoreIdentity, at place: String) -> Bool { base.holds(identity, at: place) }
    package func recognizes(_ head: Data) -> Bool { false }

    package func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try base.open(place, schema: schema, access: access)
    }

    package func outline(at place: String) throws -> StoreOutline { try base.outline(at: place) }
    package func mayWrite(_ place: String) -> Bool { base.mayWrite(place) }
    package func setAside(_ place: String, as suffix: String) throws -> String { try base.setAside(place, as: suffix) }
    package func copy(_ place: String, to target: String) throws { try base.copy(place, to: target) }
    package func remove(_ place: String) throws { try base.remove(place) }
}
