import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// `habitstore fleet plan`.
struct FleetPlanCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Draws the waves of a plan, or says what is wrong with it.",
        discussion: """
            Drawn once, waves stay: who has come since is added to the last one, and what each wave asks for may be changed. \
            With --dry-run nothing is written.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The plan: JSON, or YAML by its ending.")
    var plan: String

    @Flag(help: "Only say who would be in which wave.")
    var dryRun = false

    func run() async throws {
        let (plan, issues) = try FleetPlanReader.read(path: plan)
        guard let plan else {
            for issue in issues { StandardError.write("error: \(issue)\n") }
            throw ExitCode(ExitStatus.data.rawValue)
        }
        let (settings, stores) = try await options.stores()
        let listing = try stores.users()
        if let unknown = listing.unknown.first { throw unknown }
        let users = try listing.users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) }
        let fleet = Fleet(root: settings.root)
        let members: FleetMembers
        if dryRun {
            members = try fleet.drawing(plan, users)
        } else {
            let text = FileManager.default.contents(atPath: self.plan) ?? Data()
            let isYAML = self.plan.hasSuffix(".yaml") || self.plan.hasSuffix(".yml")
            members = try fleet.draw(plan, text: text, isYAML: isYAML, users, by: NSUserName())
        }
        try show(plan, members)
    }

    private func show(_ plan: FleetPlan, _ members: FleetMembers) throws {
        let waves = members.waves.indices.map { FleetWaveReport(plan, members, $0) }
        switch output.format {
        case .json: try JSON.write(FleetPlanReport(isDryRun: dryRun, users: members.members.count, waves: waves))
        case .text:
            var table = TextTable([
                .init("wave"), .init("users", alignment: .right), .init("heavy", alignment: .right),
                .init("MiB", alignment: .right), .init("at least", alignment: .right),
            ])
            for wave in waves {
                table.append([
                    wave.name, String(wave.users), String(wave.heavy), String(wave.bytes >> 20),
                    wave.leastSeconds.durationText,
                ])
            }
            let last =
                "\(members.members.count) users in \(waves.count) waves\(dryRun ? "; nothing was written" : "")\n"
            try Output.write(table.text(Terminal.options()) + last)
        }
    }
}

/// A wave, as it is planned.
struct FleetWaveReport: Encodable {
    let name: String
    let users: Int
    let heavy: Int
    let bytes: Int
    /// What the plan's pace and the wave's soak take at least.
    let leastSeconds: Double

    init(_ plan: FleetPlan, _ members: FleetMembers, _ wave: Int) {
        let own = members.wave(wave)
        name = members.waves[wave]
        users = own.count
        heavy = own.count { $0.lane == .heavy }
        bytes = own.reduce(0) { $0 + $1.bytes }
        let moving = plan.usersPerMinute.map { Double(own.count) * 60 / $0 } ?? 0
        let mebibytes = Double(bytes) / 1_048_576
        let copying = plan.mebibytesPerSecond.map { mebibytes / $0 } ?? 0
        leastSeconds = max(moving, copying) + plan.waves[wave].soakSeconds
    }
}

/// A plan's waves.
struct FleetPlanReport: Encodable {
    let isDryRun: Bool
    let users: Int
    let waves: [FleetWaveReport]
}
