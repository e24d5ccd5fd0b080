import ArgumentParser
import HabitStore
import HabitStoreRollout

/// `habitstore rollout promote`.
struct RolloutPromoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Moves a user one stage forward, if the gate is open.",
        discussion: """
            Exit code 1 means that the gate refused; every reason is printed and recorded in the user's evidence. \
            Nothing is verified or rehearsed on the way: `rollout advance` does that.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The stage to go to. [default: the next one]")
    var to: Stage?

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let report = try stores.withOnly(settings.user) { store in
            let from = try store.stage()
            if let to, to < from {
                throw HabitStoreError(
                    .unsupported,
                    "the user is at \(from.rawValue), and \(to.rawValue) is an earlier stage: `\(Tool.name) rollout demote` "
                        + "goes there"
                )
            }
            let decision = try store.promote(to: to)
            return try PromotionReport(store, from: from, decision)
        }
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(report.text)
        }
        if report.isRefused { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
