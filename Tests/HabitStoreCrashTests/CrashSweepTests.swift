@_spi(Engines) import HabitStoreTesting
import Testing
import Trials

/// A user's stores under a process that is killed.
struct CrashSweepTests {
    private static let kills = 150
    private static let killsOnServers = 24
    private static let groupKills = 16
    private static let migrationKills = 40
    private static let tangleKills = 25

    /// Children that write, read, forget history and move their user's stage are killed at each crash point and at random
    /// instants, some of them again in the recovery. The sweep prints its seed and its figures.
    @Test func nothingAcknowledgedIsLostWhereverAProcessIsKilled() throws {
        try sweep(["sweep", "--kills", "\(Self.kills)"])
    }

    /// The same for a user whose stores are on servers, or one of them is; left out where no server was started.
    @Test(.enabled(if: !StoreUnderTest.serverURIs.isEmpty)) func nothingIsLostOnServersWhereverAProcessIsKilled() throws
    {
        let servers = StoreUnderTest.serverURIs
        try sweep(["sweep", "--kills", "\(Self.killsOnServers)", "--servers", servers[0], servers[servers.count - 1]])
    }

    /// Children whose eight threads write to one store, and share commits, are killed at random instants: a write that was
    /// acknowledged is there, none is there in part, and none that gave up.
    @Test func noWriteThatSharesACommitIsLostOrHalfThereWhereverAProcessIsKilled() throws {
        try sweep(["group-sweep", "--kills", "\(Self.groupKills)"])
    }

    /// Processes that migrate stores, and users' stores in step, are killed at random instants: a store is of one version, whole.
    @Test func aKilledMigrationLeavesAStoreOfOneVersion() throws {
        try sweep(["migration-sweep", "--kills", "\(Self.migrationKills)"])
    }

    /// Several processes write, read, move, kill, copy and toggle one user at once, and are stopped, continued, killed, short of
    /// memory, open files and room, without their evidence, and a day off: what was acknowledged is there, and the user goes on.
    @Test func severalProcessesAtOnceLoseNothingWhereverTheyAreStoppedOrKilled() throws {
        try sweep(["tangle-sweep", "--kills", "\(Self.tangleKills)"])
    }

    private func sweep(_ arguments: [String]) throws {
        let found = try TrialsExecutable.run(["crash"] + arguments)
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("\n0 violations"))
    }
}
