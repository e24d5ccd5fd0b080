import ArgumentParser
import Foundation

/// `habitstore-trials fleet-drill`.
struct FleetDrillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-drill",
        abstract:
            "Move a fleet to complete during writes, with a fault, kills and the removal of the old stores, and measure it.",
        discussion:
            "Exit code 1 means a violation; missed goals are only printed."
    )

    @Option(help: "Users who are only planned, listed and indexed; 100,000 take 9 GB.")
    var indexed = FleetDrill.Extent().indexed

    @Option(help: "Users who are moved to complete.")
    var users = FleetDrill.Extent().users

    @Option(help: "Users whose run is killed, and who are moved back.")
    var killed = FleetDrill.Extent().killed

    @Option(help: "How often that run is killed.")
    var kills = FleetDrill.Extent().kills

    @Option(help: "Processes that write.")
    var writers = FleetDrill.Extent().writers

    @Option(help: "The seed of the kills and the writes.")
    var seed: UInt64 = 1

    @Option(help: "The folder for the users, who are removed at the end. [default: the temporary folder]")
    var folder: String?

    func validate() throws {
        guard users == 0 || users >= 40 else {
            throw ValidationError("--users must be 0 or at least 40: each wave needs some")
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
