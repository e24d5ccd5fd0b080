import Foundation
import HabitStorePostgres

/// Users with a store each on one server, in one process that keeps all handles: connections, open files and memory.
struct ServerUsersRun {
    private static let mostConnections = 16
    /// Identifies the connections of the process with the users.
    private static let application = "habitstore-users"

    private let server: BenchServer
    private let directory: URL
    private let users: Int

    init(_ server: BenchServer, _ directory: URL, users: Int) {
        (self.server, self.directory, self.users) = (server, directory, users)
    }

    func measure() throws {
        print(
            "\n\(users.grouped) users on one server, all handles kept; each is opened and writes one record, on \(ServerUsersChild.threads) threads.\n"
        )
        print(
            "| opened as | open and write, p50 ms | p99 | files before | most | memory, MiB | for each handle, KiB | connections, most | goal | met |"
        )
        print("|---|" + String(repeating: "---:|", count: 8) + "---|")
        let connection = try YardstickConnection(server.uri)
        let uri = "\(server.uri)\(server.uri.contains("?") ? "&" : "?")application_name=\(Self.application)"
        for way in ServerUsersChild.Way.allCases {
            var most = 0
            let folder = directory.appendingPathComponent(way.rawValue)
            let row = try ChildProcess.output([
                ServerUsersChild.argument, way.rawValue, folder.path, uri, server.place(way.rawValue).name,
                String(users),
            ]) {
                let connections = try connection.number(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(Self.application)'"
                )
                most = max(most, connections)
            }
            let goal = ["≤ \(Self.mostConnections)", most <= Self.mostConnections ? "yes" : "no"]
            print("| \(([way.rawValue, row, String(most)] + goal).joined(separator: " | ")) |")
            fflush(nil)
            try server.remove(way.rawValue)
        }
    }
}
