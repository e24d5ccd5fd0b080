@_spi(Engines) import HabitStore
import HabitStoreLMDB
@_spi(Engines) import HabitStorePostgres
import HabitStoreSQLite
import RolloutTesting
import Testing

/// Users move to a server, from one to another, and back, as between any two engines.
@Suite(.needsServer) struct PostgresRolloutTests {
    enum Direction: String, CaseIterable {
        case toServer, fromServer, betweenServers
    }

    private static let rollouts: [Direction: Result<RolloutUnderTest, any Error>] = [
        .toServer: Result { RolloutUnderTest(from: SQLiteProvider(), to: try server("postgres")) },
        .fromServer: Result { RolloutUnderTest(from: try server("postgres"), to: LMDBProvider()) },
        .betweenServers: Result {
            RolloutUnderTest(
                from: try server("postgres-eu"),
                to: try FolderServer(name: "postgres-us", server: TestServer.otherURI())
            )
        },
    ]

    private static func server(_ name: EngineName) throws -> FolderServer {
        try FolderServer(name: name, server: TestServer.place().server)
    }

    @Test(arguments: RolloutContract.clauses, Direction.allCases)
    func keepsTheContract(_ clause: RolloutContract.Clause, _ direction: Direction) throws {
        try clause.verify(try #require(Self.rollouts[direction]).get())
    }

    @Test(arguments: Direction.allCases) func survivesFaults(_ direction: Direction) async throws {
        let rollout = try #require(Self.rollouts[direction]).get()
        let report = try await RolloutFaultTest(seed: .random(in: .min ... .max), faults: 12).run(against: rollout)
        print(report)
    }
}
