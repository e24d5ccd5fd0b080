import ArgumentParser
import Foundation
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout evidence reset`.
struct RolloutEvidenceResetCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Starts a user's evidence again if it was lost or damaged. The user goes to off.",
        discussion: """
            Damaged evidence keeps the gate closed for ever. This keeps the file as evidence-reset-N.jsonl and starts \
            a chain that says why, by whom and what was there. Everything has to be proven again, so the user is taken \
            to off first. Intact evidence is refused without --force.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Why, for the first line of the new evidence.")
    var because: String

    @Flag(help: "Reset the evidence even if it is intact.")
    var force = false

    func validate() throws {
        guard !because.allSatisfy(\.isWhitespace), because.utf8.count <= 1_000 else {
            throw ValidationError("say why with --because TEXT, in 1,000 bytes at most")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let reset = try stores.withOnly(settings.user) {
            try $0.resetEvidence(because: because, by: NSUserName(), isForced: force)
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(settings.user), "from": .string(reset.from.rawValue),
                    "to": .string(Stage.off.rawValue), "file": .optional(reset.file),
                ])
            )
        case .text:
            let kept = reset.file.map { "what was there is in \($0)" } ?? "there was none before"
            let way = reset.from == .off ? "at off" : "\(reset.from.rawValue) → off"
            let line = "\(settings.user): \(way); the evidence starts again, and \(kept)"
            try Output.write(TerminalText.escaped(line) + "\n")
        }
    }
}
