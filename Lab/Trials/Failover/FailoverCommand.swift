import ArgumentParser
import Foundation
import HabitStore

/// Kills the primary of a PostgreSQL cluster again and again while its stores are written to, and compares their contents with the outcomes that the
/// writers saw.
struct FailoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "failover",
        abstract:
            "Kill PostgreSQL primaries while stores are written to; no acknowledged write may be lost or duplicated.",
        discussion: "Exit codes: 0 no violation; 1 a violation, or a server could not be brought back."
    )

    @Option(help: "How many rounds, with one trouble each.")
    var rounds = 200

    @Option(help: "The seed of the times and kinds of trouble.")
    var seed: UInt64 = 1

    @Option(help: "The only kind of trouble: \(FailoverTrouble.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: FailoverTrouble?

    @Option(help: "How many threads write.")
    var writers = 6

    @Option(help: "How many stores they write to. Each is opened twice.")
    var stores = 3

    @Option(
        help: "How long a write waits for another one. It waits twice as long for an answer and to learn an outcome."
    )
    var waitSeconds = 1.0

    @Option(help: "The script that starts and stops servers.")
    var script = "scripts/postgres.sh"

    func validate() throws {
        guard rounds > 0, stores > 0, writers >= stores, waitSeconds > 0 else {
            throw ValidationError(
                "--rounds, --stores and --wait-seconds must be more than 0, and --writers not less than --stores"
            )
        }
    }

    func run() throws {
        let outcome = try Failover(self).run()
        for line in outcome.lines { print(line) }
        if !outcome.isClean { throw ExitCode(1) }
    }
}

extension FailoverTrouble: ExpressibleByArgument {}
