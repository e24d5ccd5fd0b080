import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports

/// `habitstore fleet hooks`.
struct FleetHooksCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks",
        abstract: "Says how far the plan's hooks were told what is done, and tells them what they are owed.",
        discussion: """
            What hooks are owed are lines of the fleet's ledger, in their order, and nothing of it is lost. A run tells them by itself, and \
            while it is at work only it does. Exit code 1 means that a hook could not be told.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Tell the hooks what they are owed, now.")
    var send = false

    @Flag(help: "Send a message that says that nothing has happened.")
    var test = false

    @Option(help: ArgumentHelp("Only this hook.", valueName: "name"))
    var hook: String?

    func validate() throws {
        guard !send || !test else { throw ValidationError("--send and --test are two things; give one of them") }
        guard hook == nil || send || test else { throw ValidationError("--hook goes with --send or --test") }
    }

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        let tries = try send ? fleet.tellHooks(hook) : test ? fleet.testHooks(hook) : []
        let report = FleetHooksReport(
            hooks: try fleet.hooks().map(FleetHooksReport.Hook.init),
            tries: tries,
            isTest: test
        )
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(report.text(Terminal.options()))
        }
        if tries.contains(where: { $0.failure != nil }) { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
