import ArgumentParser
import Foundation
import HabitStore
import StandardEngines

/// Compares reads of a user's two stores while this process and another one write. No read may differ, since the stores are sound.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Reads of a user's two stores are compared at the same token while writers are at work.",
        discussion: "Exit codes: 0 none differs; 1 one does, a store failed, or too few could be compared."
    )

    @Option(help: "How many reads have to match, half of them at the stage shadow and half at live.")
    var reads = 1_000_000

    @Option(help: "What the questions and the writes follow from.")
    var seed: UInt64 = 1

    @Option(help: "How many threads write, half of them in a process of its own.")
    var writers = 8

    @Option(help: "How many threads read.")
    var readers = 2

    @Option(help: "The engine that the user comes from.")
    var from = Engines.standard.names[0]

    @Option(help: "The connection URI of a server that the user goes to; else it is the other one of the two engines.")
    var server: String?

    @Option(help: "A file of queries whose questions are asked too.")
    var queries: String?

    @Option(help: "After so many seconds it has failed.")
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
