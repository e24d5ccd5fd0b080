@_spi(Engines) import HabitStore
import HabitStoreLMDB
@_spi(Engines) import HabitStorePostgres
import HabitStoreRollout
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import PostgresTesting
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

    /// A kill from `complete` left a sealed store whose commits are never confirmed, and no read succeeded any more: only the seal keeps other
    /// machines' writers away.
    @Test func aStoreWhoseCommitsAreNeverConfirmedIsReadDuringAKill() async throws {
        let rollout = try #require(Self.rollouts[.betweenServers]).get()
        let fault = Fault(.fail(.outcomeUnknown), on: .writes, at: .afterCommit)
        try await FaultCell(.complete, .new, fault, pullsKillSwitch: true).verify(rollout)
    }

    /// The same if the commit happens, its confirmation never arrives, and reads succeed: the sealed store got its role again, and that was not
    /// confirmed either.
    @Test(arguments: [Direction.toServer, .betweenServers])
    func aStoreWhoseCommitsHangIsReadDuringAKill(_ direction: Direction) async throws {
        let rollout = try #require(Self.rollouts[direction]).get()
        let fault = Fault(.hang, on: .writes, at: .afterCommit)
        try await FaultCell(.complete, .new, fault, pullsKillSwitch: true).verify(rollout)
    }

    /// The counts of the last reads were shared with the server that the kill left, which hung, before the kill continued.
    @Test func aKillBetweenServersWaitsForNoneThatHangs() async throws {
        let rollout = try #require(Self.rollouts[.betweenServers]).get()
        for moment in [Fault.Moment.beginning, .beforeCommit, .afterCommit] {
            let fault = Fault(.hang, on: .writes, at: moment)
            try await FaultCell(.live, .new, fault, pullsKillSwitch: true).verify(rollout)
        }
        try await FaultCell(.live, .new, Fault(.hang, on: .all), pullsKillSwitch: true).verify(rollout)
    }

    @Test(arguments: Direction.allCases) func survivesFaults(_ direction: Direction) async throws {
        let rollout = try #require(Self.rollouts[direction]).get()
        let report = try await RolloutFaultTest(seed: .random(in: .min ... .max), faults: 12).run(against: rollout)
        print(report)
    }
}
