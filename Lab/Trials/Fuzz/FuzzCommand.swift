import ArgumentParser
import Foundation
import HabitStoreTesting

/// Asks all stores random queries, for a time or up to a number, and fails if one gives a different answer.
struct FuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz",
        abstract: "Ask all stores random queries, which they have to answer alike.",
        discussion: "Exit codes: 0 they did; 1 one gave another answer; 2 the queries could not be asked."
    )

    /// The data to query.
    enum DataChoice: String, CaseIterable, ExpressibleByArgument {
        case livedIn = "lived-in"
        case specimens
        case both
    }

    @Option(help: "Ask for so many seconds.")
    var seconds: Double?

    @Option(help: "Ask so many queries; 20000 when neither is given.")
    var queries: Int?

    @Option(help: "The seed from which all queries follow.")
    var seed: UInt64 = 1

    @Option(help: "Begin with the query of this number, to see one again.")
    var first = 0

    @Option(help: "What is asked about.")
    var data = DataChoice.both

    @Option(help: "The lived-in store.")
    var fixture = "fixtures/lived-in.sqlite"

    @Option(help: "Stop at the disagreement of this number.")
    var find = 1

    @Option(help: "Threads, each with stores and a seed of its own.")
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
