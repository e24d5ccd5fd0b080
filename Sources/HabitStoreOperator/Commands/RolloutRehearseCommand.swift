import ArgumentParser
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout rehearse`.
struct RolloutRehearseCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Executes the way back on copies of a user's stores, and writes the outcome into the evidence.",
        discussion: """
            The copies go to live, are written to, and are taken back by the kill switch; then they are compared. They lie \
            beside the user's stores, take as much room for a moment, and are removed. Exit code 1 means that the way back \
            did not work.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let failure = try stores.withOnly(settings.user) { try $0.rehearse() }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(settings.user),
                    "isClean": .bool(failure == nil),
                    "message": .optional(failure?.description),
                ])
            )
        case .text:
            let what = failure.map { "the way back FAILED: \($0.description)" } ?? "the way back works"
            try Output.write(TerminalText.escaped("\(settings.user): \(what)") + "\n")
        }
        if failure != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
