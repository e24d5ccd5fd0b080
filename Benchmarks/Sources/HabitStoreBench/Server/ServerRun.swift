import Foundation

/// The suite `server`: stores on a PostgreSQL server compared with the same statements in C and with pgbench, and many users on one server.
struct ServerRun {
    private let directory: URL
    private let rounds: Int
    private let users: Int

    init(_ directory: URL, rounds: Int, users: Int) {
        self.directory = directory.appendingPathComponent("server")
        (self.rounds, self.users) = (rounds, users)
    }

    func measure() throws {
        guard let server = try BenchServer() else {
            print(
                "\nThe suite server was skipped: HABITSTORE_POSTGRES names no server. `make bench SUITE=server` starts one."
            )
            return
        }
        let result = Result { try measure(server) }
        try server.remove()
        try result.get()
    }

    private func measure(_ server: BenchServer) throws {
        let version = try YardstickConnection(server.uri).number("SHOW server_version_num")
        print("\nPostgreSQL \(version / 10_000).\(version % 10_000).")
        try ServerWorkRun(server, rounds: rounds).measure()
        try ServerWritersRun(server, directory, rounds: rounds).measure()
        try ServerUsersRun(server, directory, users: users).measure()
    }
}
