import ArgumentParser
import Foundation

extension RolloutCommand {
    /// Runs the command with the process's arguments.
    public static func main() async { await main(nil) }

    /// Runs the command; an error prints one line to standard error and sets the exit code.
    ///
    /// - Parameter arguments: the arguments, without the program's name; nil for the process's arguments.
    public static func main(_ arguments: [String]?) async {
        StandardStreams.claim()
        // If the reader goes away, a write fails, which unwinds and cleans up; the signal would not.
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
