import Foundation
@_spi(Engines) import HabitStorePostgres
@_spi(Engines) import HabitStoreTesting
import PostgresTesting
import Testing
import Trials

/// The servers that `scripts/postgres.sh` has started, if it has.
enum TestServer {
    static var isThere: Bool { !StoreUnderTest.servers.isEmpty }

    /// The store of this target.
    static var store: StoreUnderTest { get throws { try #require(StoreUnderTest.servers.first) } }

    /// A place for a new store.
    static func place(_ name: String = UUID().uuidString) throws -> PostgresPlace {
        let server = try #require(StoreUnderTest.serverURIs.first)
        try PostgresServer(server).prepare()
        return PostgresPlace(server: server, name: name)
    }

    /// The last server, which differs from the first if two were started.
    static func otherURI() throws -> String {
        let uri = try #require(StoreUnderTest.serverURIs.last)
        try PostgresServer(uri).prepare()
        return uri
    }

    /// The port of the first server's primary.
    static var port: Int {
        get throws {
            let uri = try #require(StoreUnderTest.serverURIs.first)
            return try #require(uri.firstMatch(of: /:(\d+)/).flatMap { Int($0.output.1) })
        }
    }

    /// The server's address through a proxy.
    static func uri(of proxy: PostgresProxy) throws -> String {
        let uri = try #require(StoreUnderTest.serverURIs.first)
        return uri.replacing(/@[^\/]*/, with: "@127.0.0.1:\(proxy.port)")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if no server was started.
    static var needsServer: Self {
        .enabled(if: TestServer.isThere, "no PostgreSQL server was started; see scripts/postgres.sh")
    }
}
