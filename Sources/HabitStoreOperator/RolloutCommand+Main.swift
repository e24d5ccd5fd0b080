import ArgumentParser
import Foundation

extension RolloutCommand {
    /// Runs the command with the process's arguments.
    public static func main() async { await main(nil) }

    /// Runs the command: each error ends as one line on standard error, and an exit code.
    ///
    /// - Parameter arguments: what to run, without the program's name; nil for the process's arguments.
    public static func main(_ arguments: [String]?) async {
        StandardStreams.claim()
        // A reader that went away is noticed by the write that fails, which unwinds and cleans up; the signal would not.
        signal(SIGPIPE, SIG_IGN)
        var showsDetail = false
        var (isJSON, isFollowing) = (false, false)
        do {
            try Tool.become(Self.self)
            MappedFileFault.endInOneLine()
            try ArgumentText.check()
            var command = try parsed(arguments ?? Array(CommandLine.arguments.dropFirst()))
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

    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        do {
            return try parseAsRoot(arguments)
        } catch {
            throw CommandWords.failure(arguments, of: Self.self) ?? error
        }
    }
}
