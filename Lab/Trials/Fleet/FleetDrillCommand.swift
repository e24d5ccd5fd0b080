import ArgumentParser
import Foundation

/// `habitstore-trials fleet-drill`.
struct FleetDrillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-drill",
        abstract:
            "Move a fleet all the way while others write, with a fault, kills and the end of the old stores, and measure it.",
        discussion:
            "Exit code 1 means that something was found which must not be; goals that were missed are only said."
    )

    @Option(help: "Users who are only planned, looked at and indexed; 100,000 take 9 GB.")
    var indexed = FleetDrill.Extent().indexed

    @Option(help: "Users who are moved all the way.")
    var users = FleetDrill.Extent().users

    @Option(help: "Users whose run is killed, and who are taken back.")
    var killed = FleetDrill.Extent().killed

    @Option(help: "How often that run is killed.")
    var kills = FleetDrill.Extent().kills

    @Option(help: "Processes that write.")
    var writers = FleetDrill.Extent().writers

    @Option(help: "Decides when runs are killed, and who is written to.")
    var seed: UInt64 = 1

    @Option(help: "Where the users are made, and removed in the end. [default: the temporary folder]")
    var folder: String?

    func validate() throws {
        guard users == 0 || users >= 40 else {
            throw ValidationError("--users is 0, or 40 and more: each wave needs some")
        }
    }

    func run() throws {
        var extent = FleetDrill.Extent()
        (extent.indexed, extent.users, extent.killed) = (indexed, users, killed)
        (extent.kills, extent.writers, extent.seed) = (kills, writers, seed)
        let parent = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("habitstore-drill-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var drill = FleetDrill(extent, in: folder)
        do {
            try drill.run()
        } catch {
            print("FAILED (seed \(seed)): \(error)")
            throw ExitCode(1)
        }
        if drill.figures.missed > 0 { print("\(drill.figures.missed) goals were missed") }
    }
}
