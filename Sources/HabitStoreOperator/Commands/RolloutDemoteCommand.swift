import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout demote`.
struct RolloutDemoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "demote",
        abstract: "Moves a user to an earlier stage. This needs no evidence.",
        discussion: """
            No acknowledged write is lost: the store that will serve first catches up with everything that the other \
            one holds, and if that fails the user stays.

            While the flags want a later stage, the next `rollout advance` moves the user forward again, as far as the \
            gate allows.
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
            StandardError.note("the flags still want \(wanted.rawValue): the next advance moves the user there again")
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
