import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports

/// `habitstore fleet hooks`.
struct FleetHooksCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks",
        abstract: "Lists how far each hook of the plan has come, or delivers what it is owed.",
        discussion: """
            Hooks are owed lines of the fleet's ledger, in order, and none is lost. A run delivers them, and during a \
            run no other command does. Exit code 1 means that a delivery failed.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Deliver what the hooks are owed, now.")
    var send = false

    @Flag(help: "Send a test event, which reports nothing.")
    var test = false

    @Option(help: ArgumentHelp("Only this hook.", valueName: "name"))
    var hook: String?

    func validate() throws {
        guard !send || !test else { throw ValidationError("--send and --test exclude each other; give one of them") }
        guard hook == nil || send || test else { throw ValidationError("--hook needs --send or --test") }
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
