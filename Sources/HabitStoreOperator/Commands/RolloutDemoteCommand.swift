import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout demote`.
struct RolloutDemoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "demote",
        abstract: "Moves a user to an earlier stage. Nothing has to be proven for that.",
        discussion: """
            Nothing that was acknowledged is given up: the store that serves then is first brought to everything that the other one holds, \
            and where that cannot be done the user stays.

            While the flags want a later stage, the next `rollout advance` takes the user forward again, as far as the \
            gate lets.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The stage to go to. [default: the one before]")
    var to: Stage?

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String?

    func validate() throws {
        guard because?.allSatisfy(\.isWhitespace) != true else {
            throw ValidationError("--because is empty; say why the user is taken back")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let (from, there, wanted, engine, token) = try stores.withOnly(settings.user) { store in
            let from = try store.stage()
            try store.demote(to: to, because: because)
            return (from, try store.stage(), store.wantedStage, try store.engine(), try store.currentToken())
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
                    "engine": .string(engine.rawValue),
                    "token": .int(Int(token.rawValue)),
                ])
            )
        case .text:
            let line = "\(settings.user): \(from.rawValue) → \(there.rawValue)"
            try Output.write(TerminalText.escaped(line) + "\n")
            StandardError.note("nothing is given up: the \(engine.rawValue) store serves, at token \(token)")
        }
    }
}
