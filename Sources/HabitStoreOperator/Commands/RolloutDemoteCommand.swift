import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout demote`.
struct RolloutDemoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "demote",
        abstract: "Moves a user to an earlier stage. Nothing has to be proven for that.",
        discussion: """
            While the flags want a later stage, the next `rollout advance` takes the user forward again, as far as the \
            gate lets.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The stage to go to. [default: the one before]")
    var to: Stage?

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let (from, there, wanted) = try stores.withOnly(settings.user) { store in
            let from = try store.stage()
            try store.demote(to: to)
            return (from, try store.stage(), store.wantedStage)
        }
        if let wanted, wanted > there {
            StandardError.note("the flags still want \(wanted.rawValue): the next advance leads there again")
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(settings.user),
                    "from": .string(from.rawValue),
                    "to": .string(there.rawValue),
                    "wanted": .optional(wanted?.rawValue),
                ])
            )
        case .text:
            let line = "\(settings.user): \(from.rawValue) → \(there.rawValue)"
            try Output.write(TerminalText.escaped(line) + "\n")
        }
    }
}
