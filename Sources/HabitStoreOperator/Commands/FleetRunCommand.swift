import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// `habitstore fleet run`.
struct FleetRunCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Moves users wave by wave, until all have arrived or something halts it.",
        discussion: """
            It prints in one line what it is doing and what it waits for, and runs the plan's hooks. If it is killed, \
            the next run continues. Exit code 1 means that it was halted, or that some users could not be moved.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let fleet = Fleet(root: settings.root)
        let isShown = output.format == .text && !quiet
        let end = try await withCheckedThrowingContinuation { continuation in
            // A run blocks for hours, which a Swift task must not do.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try fleet.run(stores, by: NSUserName()) { line in
                            if isShown { StandardError.note(line) }
                        }
                    }
                )
            }
        }
        switch end {
        case .done(let passedOver):
            try say(
                state: "done",
                "all waves are done"
                    + (passedOver > 0
                        ? "; \(passedOver.counted("user")) \(passedOver == 1 ? "was" : "were") killed, and not moved"
                        : "")
            )
            if passedOver > 0 { throw ExitCode(ExitStatus.different.rawValue) }
        case .halted(let person, let reason, let user):
            let words = "halted by \(person): \(reason)" + (user.map { " (user \($0))" } ?? "")
            try say(state: "halted", words + "; `\(Tool.name) fleet resume` continues it")
            throw ExitCode(ExitStatus.different.rawValue)
        }
    }

    private func say(state: String, _ text: String) throws {
        switch output.format {
        case .json: try JSON.write(JSON.object(["state": .string(state), "text": .string(text)]))
        case .text: try Output.write(TerminalText.escaped(text) + "\n")
        }
    }
}
