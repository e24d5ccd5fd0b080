import ArgumentParser
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout rehearse`.
struct RolloutRehearseCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Tries the way back on copies of a user's stores, and records the result as evidence.",
        discussion: """
            The copies are moved to live, written to, and taken back by the kill switch; then they are compared. They \
            are made next to the user's stores, need as much space for a moment, and are removed. Exit code 1 means \
            that the way back failed.
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
