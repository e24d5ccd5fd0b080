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
        abstract: "Draws the waves of a plan, or reports what is wrong with it.",
        discussion: """
            Waves are drawn once. New users join the last wave, and what each wave asks for may be changed. With \
            --dry-run nothing is written; with --salt, the salt that it prints draws the same waves again.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The plan: JSON, or YAML by its file name.")
    var plan: String

    @Flag(help: "Write nothing; only show the waves.")
    var dryRun = false

    @Flag(help: "List the users of each wave.")
    var users = false

    @Option(help: ArgumentHelp("The salt that assigns users to waves. [default: random]", valueName: "hex"))
    var salt: String?

    func validate() throws {
        guard let salt else { return }
        guard salt.utf8.count == 32, salt.allSatisfy(\.isHexDigit) else {
            throw ValidationError("--salt is 32 hexadecimal digits, as --dry-run shows them")
        }
    }

    func run() async throws {
        let (plan, issues, text) = try FleetPlanReader.readText(path: plan)
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
            members = try fleet.drawing(plan, users, salt: salt)
        } else {
            let isYAML = self.plan.hasSuffix(".yaml") || self.plan.hasSuffix(".yml")
            members = try fleet.draw(plan, text: text, isYAML: isYAML, users, by: NSUserName(), salt: salt) {
                StandardError.note($0)
            }
        }
        try show(plan, members)
    }

    private func show(_ plan: FleetPlan, _ members: FleetMembers) throws {
        let waves = members.waves.indices.map { FleetWaveReport(plan, members, $0, listsUsers: users || dryRun) }
        switch output.format {
        case .json:
            try JSON.write(
                FleetPlanReport(isDryRun: dryRun, salt: members.salt, users: members.members.count, waves: waves)
            )
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
            let end = dryRun ? "; nothing was written, and `--salt \(members.salt)` draws the same" : ""
            let total = waves.reduce(0) { $0 + $1.leastSeconds }.durationText
            let last =
                "\(members.members.count.counted("user")) in \(waves.count.counted("wave")), \(total) at least\(end)\n"
            try Output.write(table.text(Terminal.options()) + list(waves) + last)
        }
    }

    /// Lists the users of each wave.
    private func list(_ waves: [FleetWaveReport]) -> String {
        guard users else { return "" }
        var text = ""
        for wave in waves {
            text += "\n" + TerminalText.escaped("\(wave.name):") + "\n"
            for member in wave.members ?? [] {
                let heavy = member.isHeavy ? ", heavy" : ""
                text += TerminalText.escaped("  \(member.user) (\(member.bytes) bytes\(heavy))") + "\n"
            }
        }
        return text + "\n"
    }
}

/// A wave in the plan's report.
struct FleetWaveReport: Encodable {
    struct Member: Encodable {
        let user: String
        let bytes: Int
        let isHeavy: Bool
    }

    let name: String
    let users: Int
    let heavy: Int
    let bytes: Int
    /// The least that the plan's pace and the wave's soak can take.
    let leastSeconds: Double
    /// The wave's users, in moving order; nil unless requested.
    let members: [Member]?

    init(_ plan: FleetPlan, _ members: FleetMembers, _ wave: Int, listsUsers: Bool) {
        let own = members.wave(wave)
        name = members.waves[wave]
        users = own.count
        heavy = own.count { $0.lane == .heavy }
        bytes = own.reduce(0) { $0 + $1.bytes }
        leastSeconds = plan.leastSeconds(ofWave: wave, users: own.count, bytes: bytes)
        self.members =
            listsUsers ? own.map { Member(user: $0.user, bytes: $0.bytes, isHeavy: $0.lane == .heavy) } : nil
    }
}

/// A plan's waves.
struct FleetPlanReport: Encodable {
    let isDryRun: Bool
    /// The hexadecimal digits that decided the order of users.
    let salt: String
    let users: Int
    let waves: [FleetWaveReport]
}
