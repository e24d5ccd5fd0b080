import ArgumentParser
import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore user restore`.
struct UserRestoreCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup of a user back.",
        discussion: """
            The user gets the backup's stores, in an epoch above all others, and the evidence records it; earlier \
            proof no longer counts. Refused if the user has anything that the backup lacks. With --replace that is \
            given up: the stores are set aside next to the new ones, and never deleted.

            A missing user is created as of the backup. A killed restore leaves the user as before, or the next \
            opening finishes it.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The backup.")
    var path: String

    @Flag(help: "Give up what the user has and the backup lacks.")
    var replace = false

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard because.map({ $0.contains { !$0.isWhitespace } }) ?? !replace else {
            throw ValidationError("--replace gives up what the user has; say why with --because")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let backup = try UserBackup(path: path)
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let outcome = try stores.restore(
            backup,
            of: userOptions.user,
            replacing: replace,
            by: NSUserName(),
            because: because ?? "a backup was put back"
        ) { bar.show($0, $1, $2) }
        bar.clear()
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(outcome.user),
                    "isNew": .bool(outcome.isNew),
                    "stage": .string(outcome.stage.rawValue),
                    "engine": .string(outcome.engine.rawValue),
                    "epoch": .int(outcome.epoch),
                    "token": .int(Int(outcome.token.rawValue)),
                    "givenUp": .array(outcome.givenUp.map { .string($0) }),
                    "aside": .array(outcome.aside.map { .string($0) }),
                ])
            )
        case .text: try Output.write(text(outcome))
        }
    }

    private func text(_ outcome: RestorationOutcome) -> String {
        var lines = outcome.givenUp.map { "given up: \($0)" }
        lines += outcome.aside.map { "set aside: \($0)" }
        lines.append(
            "\(outcome.user) \(outcome.isNew ? "is there again" : "is as of the backup"): \(outcome.stage.rawValue) on "
                + "\(outcome.engine.rawValue), token \(outcome.token), epoch \(outcome.epoch)"
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }
}
