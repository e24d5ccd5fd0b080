import ArgumentParser
import Foundation

/// The command line: stores to be compared, copied, checked and asked, and a habit tracker on top of them.
@main
struct Habitstore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore",
        abstract: "Keeps habits in SQLite or LMDB, moves them from one to the other, and proves that nothing was lost.",
        discussion: """
            A store is written as sqlite:PATH, lmdb:PATH, postgres://SERVER#NAME, or as a path whose kind is recognised.
            Exit codes: 0 done, or identical; 1 different, damaged, refused, or something found; 2 only what rules ignore is \
            different; 64 wrong usage; 65 data that cannot be read; 74 a file that cannot be reached; 75 out of time.
            """,
        version: "0.1.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Stores",
                subcommands: [
                    VerificationCommand.self, CopyCommand.self, MigrateCommand.self, CheckCommand.self,
                    QueryCommand.self,
                    HistoryCommand.self,
                    InfoCommand.self, InspectCommand.self, SchemaCommand.self, ImportCommand.self,
                    ExportCommand.self, ServerCommand.self,
                ]
            ),
            CommandGroup(
                name: "Rollout",
                subcommands: [
                    RolloutCommand.self, FleetCommand.self, ServeCommand.self, UserCommand.self, FlagsCommand.self,
                ]
            ),
            CommandGroup(
                name: "Habits",
                subcommands: [
                    HabitCommand.self, CheckinCommand.self, EntryCommand.self, TagCommand.self, DraftCommand.self,
                    ChartCommand.self, SearchCommand.self, StatusCommand.self,
                ]
            ),
        ]
    )

    /// Every error ends here, as one line on standard error and an exit code.
    static func main() async {
        StandardStreams.claim()
        // A reader that went away is noticed by the write that fails, which unwinds and cleans up; the signal would not.
        signal(SIGPIPE, SIG_IGN)
        MappedFileFault.endInOneLine()
        var showsDetail = false
        var (isJSON, isFollowing) = (false, false)
        do {
            try ArgumentText.check()
            var command = try parseAsRoot()
            if let command = command as? any ReportingCommand {
                showsDetail = command.output.verbose
                (isJSON, isFollowing) = (command.output.format == .json, command.isFollowing)
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let interrupted as Interrupted {
            interrupted.end()
        } catch {
            let report = ErrorReport(error, showsDetail: showsDetail)
            Foundation.exit(report.emit(asJSON: isJSON, asLine: isFollowing).rawValue)
        }
    }
}
