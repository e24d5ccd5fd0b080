import Foundation
import HabitStorePostgres
import PostgresTesting

/// The server of the suite `server`: the first one in `HABITSTORE_POSTGRES`.
struct BenchServer {
    let uri: String
    /// The prefix of the names of this run's stores.
    let prefix = "habitstore-bench-\(UUID().uuidString)"

    /// - Returns: nil without a server.
    init?() throws {
        let uris = ProcessInfo.processInfo.environment["HABITSTORE_POSTGRES"]?.split(separator: " ") ?? []
        guard let first = uris.first else { return nil }
        uri = String(first)
        try PostgresServer(uri).prepare()
    }

    func place(_ name: String) -> PostgresPlace { PostgresPlace(server: uri, name: "\(prefix)-\(name)") }

    /// Copies of a store under other names.
    func copies(of store: PostgresHabitStore, _ names: [String]) throws -> [PostgresPlace] {
        try names.map { name in
            let place = place(name)
            try store.backup(to: place.description)
            return place
        }
    }

    /// Removes all stores of this run whose names continue with `name`.
    func remove(_ name: String = "") throws {
        let connection = try YardstickConnection(uri)
        let stores = "SELECT store FROM hs_store WHERE name LIKE '\(prefix)\(name.isEmpty ? "" : "-" + name)%'"
        for table in ["meta", "record", "index", "history", "digest", "evidence", "store"] {
            try connection.number("DELETE FROM hs_\(table) WHERE store IN (\(stores))")
        }
    }

    /// The server's port, if it is on the loopback address.
    private var port: Int? { uri.firstMatch(of: /@(?:127\.0\.0\.1|localhost):(\d+)/).flatMap { Int($0.output.1) } }

    /// A proxy for the server; nil if the server is on another machine.
    func proxy() throws -> PostgresProxy? { try port.map { try PostgresProxy(to: $0) } }

    /// The server's URI through a proxy.
    func uri(through proxy: PostgresProxy) -> String { uri.replacing(/@[^\/]*/, with: "@127.0.0.1:\(proxy.port)") }

    /// The path of a PostgreSQL program: from `POSTGRES_BIN`, or an installed one.
    static func program(_ name: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        var folders = environment["POSTGRES_BIN"].map { [$0] } ?? []
        let installed = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: installed)) ?? []
        folders += versions.sorted { $0.localizedStandardCompare($1) == .orderedDescending }.map {
            "\(installed)/\($0)/bin"
        }
        folders += environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
