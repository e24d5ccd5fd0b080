@_spi(Engines) import HabitStoreTesting
import Testing
import Trials

/// Sweeps that kill processes while they use a user's stores.
struct CrashSweepTests {
    private static let kills = 90
    private static let killsOnServers = 12
    private static let killsOverFiles = 12
    private static let groupKills = 16
    private static let launchKills = 8
    private static let migrationKills = 24
    private static let concurrentKills = 15

    /// Children that write, read, prune history and move their user's stage are killed at each crash point and at random instants, some of them again
    /// during recovery. The sweep prints its seed and its figures.
    @Test func nothingAcknowledgedIsLostWhereverAProcessIsKilled() throws {
        try sweep(["sweep", "--kills", "\(Self.kills)"])
    }

    /// The same for a user with one or both stores on servers; skipped if no server was started.
    @Test(.enabled(if: !StoreUnderTest.serverURIs.isEmpty)) func nothingIsLostOnServersWhereverAProcessIsKilled() throws
    {
        let servers = StoreUnderTest.serverURIs
        try sweep(["sweep", "--kills", "\(Self.killsOnServers)", "--servers", servers[0], servers[servers.count - 1]])
    }

    /// The same for a user who moves between an app's own file and another engine.
    @Test func nothingIsLostInAnAppsOwnFileWhereverAProcessIsKilled() throws {
        try sweep(["sweep", "--kills", "\(Self.killsOverFiles)", "--mapped"])
    }

    /// Children whose eight threads write to one store, and share commits, are killed at random instants: every acknowledged write is present, no
    /// write is partial, and no failed write has happened.
    @Test func noWriteThatSharesACommitIsLostOrHalfThereWhereverAProcessIsKilled() throws {
        try sweep(["group-sweep", "--kills", "\(Self.groupKills)"])
    }

    /// Processes that migrate stores, and users' stores in step, are killed at random instants: each store is completely at one version.
    @Test func aKilledMigrationLeavesAStoreOfOneVersion() throws {
        try sweep(["migration-sweep", "--kills", "\(Self.migrationKills)"])
    }

    /// Launches that bring an app's old file into a store are killed, between writes of old code: no store serves without every row.
    @Test func aKilledFirstLaunchServesNothingThatIsNotWhole() throws {
        try sweep(["launch-sweep", "--kills", "\(Self.launchKills)"])
    }

    /// Several processes write, read, move, kill, copy and switch one user at the same time. They are stopped, continued, killed, run out of memory,
    /// files and disk space, lose their evidence, and have a clock that is a day off: every acknowledged write is present, and the user can continue.
    @Test func severalProcessesAtOnceLoseNothingWhereverTheyAreStoppedOrKilled() throws {
        try sweep(["concurrent-sweep", "--kills", "\(Self.concurrentKills)"])
    }

    private func sweep(_ arguments: [String]) throws {
        let found = try TrialsExecutable.run(["crash"] + arguments)
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("\n0 violations"))
    }
}
