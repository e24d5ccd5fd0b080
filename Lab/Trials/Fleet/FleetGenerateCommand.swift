import ArgumentParser
import Foundation

/// Makes the users of a fleet.
struct FleetGenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-generate",
        abstract: "Create many users of two sizes, each with a SQLite store that no rollout has touched."
    )

    @Argument(help: "The root; existing users are kept.")
    var root: String

    @Option(help: "How many users.")
    var users = 100_000

    @Option(help: "One user in this many is large.")
    var largeOneIn = 50

    func validate() throws {
        guard users > 0, largeOneIn > 0 else { throw ValidationError("--users and --large-one-in must be 1 or more") }
    }

    func run() throws {
        try FleetGenerator(root: root, largeOneIn: largeOneIn).make(users) { count in
            FileHandle.standardError.write(Data("\r\(count) of \(users) users".utf8))
        }
        FileHandle.standardError.write(Data("\n".utf8))
    }
}
