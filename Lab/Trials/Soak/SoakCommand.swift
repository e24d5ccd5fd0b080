import ArgumentParser
import Foundation
import HabitStore
import StandardEngines

/// Compares reads of a user's two stores while this process and another one write. No read may differ, since the stores are sound.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Compare reads of a user's two stores at the same token during writes.",
        discussion:
            "Exit codes: 0 no read differed; 1 a read differed, a store failed, or too few reads could be compared."
    )

    @Option(help: "How many reads must match, half of them at the stage shadow and half at live.")
    var reads = 1_000_000

    @Option(help: "The seed of the queries and the writes.")
    var seed: UInt64 = 1

    @Option(help: "How many threads write, half of them in a second process.")
    var writers = 8

    @Option(help: "How many threads read.")
    var readers = 2

    @Option(help: "The user's old engine.")
    var from = Engines.standard.names[0]

    @Option(help: "The connection URI of the server to move to; otherwise the user moves to the other local engine.")
    var server: String?

    @Option(help: "A file of queries to run in addition to random ones.")
    var queries: String?

    @Option(help: "Fail after this many seconds.")
    var limitSeconds = 14_400.0

    @Option(
        help: ArgumentHelp(
            "Only write, into the stores under this root, until standard input ends.",
            visibility: .private
        )
    )
    var writeInto: String?

    func validate() throws {
        guard reads > 0, writers > 0, readers > 0, limitSeconds > 0 else {
            throw ValidationError("--reads, --writers, --readers and --limit-seconds must be more than 0")
        }
    }

    func run() throws {
        if let writeInto {
            let user = try SoakUser(root: writeInto, self)
            return try SoakWriters(try user.open(), count: writers, seed: seed).runUntilInputEnds()
        }
        let outcome = try Soak(self).run()
        for line in outcome.lines { print(line) }
        if !outcome.isClean { throw ExitCode(1) }
    }
}
