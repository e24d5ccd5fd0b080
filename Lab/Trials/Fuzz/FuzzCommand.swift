import ArgumentParser
import Foundation
import HabitStoreTesting

/// Asks all stores random queries, for a time or up to a number, and fails if one gives a different answer.
struct FuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz",
        abstract: "Run random queries on all stores, which must give equal answers.",
        discussion: "Exit codes: 0 all agreed; 1 a store gave a different answer; 2 the queries could not be run."
    )

    /// The data to query.
    enum DataChoice: String, CaseIterable, ExpressibleByArgument {
        case livedIn = "lived-in"
        case specimens
        case both
    }

    @Option(help: "Run for this many seconds.")
    var seconds: Double?

    @Option(help: "Run this many queries; 20000 if neither is given.")
    var queries: Int?

    @Option(help: "The seed from which all queries follow.")
    var seed: UInt64 = 1

    @Option(help: "Start at the query with this number, to repeat one.")
    var first = 0

    @Option(help: "The data to query.")
    var data = DataChoice.both

    @Option(help: "The lived-in store.")
    var fixture = "fixtures/lived-in.sqlite"

    @Option(help: "Stop after this many disagreements.")
    var find = 1

    @Option(help: "Threads, each with its own stores and seed.")
    var jobs = 1

    var extent: QueryFuzz.Extent { seconds.map { .seconds($0) } ?? .queries(queries ?? 20_000) }

    func validate() throws {
        guard seconds == nil || queries == nil else {
            throw ValidationError("--seconds and --queries cannot both be given")
        }
        guard seconds ?? 0 >= 0, queries ?? 0 >= 0, first >= 0 else {
            throw ValidationError("--seconds, --queries and --first must be 0 or more")
        }
        guard find >= 1, (1...64).contains(jobs) else {
            throw ValidationError("--find must be 1 or more, and --jobs from 1 to 64")
        }
    }

    func run() throws {
        let isAgreed: Bool
        do {
            isAgreed = try FuzzRun(self).run()
        } catch {
            FileHandle.standardError.write(Data("habitstore-trials fuzz: \(error)\n".utf8))
            throw ExitCode(2)
        }
        if !isAgreed { throw ExitCode.failure }
    }
}
