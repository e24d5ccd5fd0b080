import Foundation
import Testing

/// A user's stores under a process that is killed.
struct CrashSweepTests {
    /// Finds the bundle of the tests.
    private final class Marker {}

    private static let kills = 150
    private static let groupKills = 16
    private static let migrationKills = 40
    private static let tangleKills = 25

    /// Children that write, read, forget history and move their user's stage are killed at each crash point and at random
    /// instants, some of them again in the recovery. The sweep prints its seed and its figures.
    @Test func nothingAcknowledgedIsLostWhereverAProcessIsKilled() throws {
        try sweep(["sweep", "--kills", "\(Self.kills)"])
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
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: Marker.self).bundleURL.deletingLastPathComponent(),
            CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() },
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent("habitstore-trials") }
        let binary = try #require(
            candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
            "the sweep is not built; it is expected at one of \(candidates.map(\.path))"
        )
        let process = Process()
        process.executableURL = binary
        process.arguments = ["crash"] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        print(text)
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("\n0 violations"))
    }
}
