import ArgumentParser
import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout adopt`.
struct RolloutAdoptCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Accepts one of a user's stores as the current one, unchanged.",
        discussion: """
            A store that was put back from a backup, or swapped, is not served: it is older than what was \
            acknowledged. If nothing newer is left, this accepts it, and gives up what was written since that backup. \
            The other store is set aside next to it and never deleted, and the user's evidence records who accepted it \
            and why. --dry-run reports what would be given up, and changes nothing.

            Refused, with exit code 65, if another store of the user's is sound and serves, or would at the next \
            opening, and holds more: `rollout demote` takes the user back without a loss. Also refused if a store has \
            a schema that this program does not have, because a program that cannot open a store decides nothing about \
            it.

            A user with one store on a server and one in files belongs to the machine that has the files. Only if that \
            machine is lost for good should another one accept the store on the server: what never reached the server \
            is given up.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Which of the user's stores, by its engine.")
    var engine: EngineName

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String

    @Flag(help: "Accept a store of a user who belongs to another machine, which is lost for good.")
    var otherMachineIsLost = false

    @Flag(help: "Change nothing; report what would be given up.")
    var dryRun = false

    func validate() throws {
        guard !because.trimmingCharacters(in: .whitespaces).isEmpty else {
            throw ValidationError("--because is empty; say why the store is accepted")
        }
        guard userOptions.user != nil else { throw ValidationError("say whose store is accepted, with --user") }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let lines = try settings.stores(otherVersions: .asWrittenByAnyApp)
            .adopt(
                engine,
                for: settings.user,
                by: NSUserName(),
                because: because,
                isOtherMachineLost: otherMachineIsLost,
                isDry: dryRun
            )
        switch output.format {
        case .json:
            let report = JSON.object(["user": .string(settings.user), "done": .array(lines.map { JSON.string($0) })])
            try JSON.write(report)
        case .text: try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
