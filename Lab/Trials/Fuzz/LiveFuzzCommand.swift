import ArgumentParser
import Foundation
import HabitStoreTesting

/// Runs random live queries over random commits on all stores, and fails if an answer differs from a fetch.
struct LiveFuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz-live",
        abstract: "Compare random live queries with fetches after each of many random commits.",
        discussion:
            "Exit codes: 0 they agreed; 1 a live query gave a different answer; 2 the commits could not be made."
    )

    @Option(help: "How many commits, over all stores.")
    var commits = 200_000

    @Option(help: "The seed of the commits and the queries.")
    var seed: UInt64 = 1

    /// After this many commits a new store is used.
    private static let commitsOfAStore = 2_500

    func validate() throws {
        guard commits > 0 else { throw ValidationError("--commits must be 1 or more") }
    }

    func run() throws {
        do {
            try follow()
        } catch let disagreement as Disagreement {
            print(disagreement)
            throw ExitCode.failure
        } catch {
            FileHandle.standardError.write(Data("habitstore-trials fuzz-live: \(error)\n".utf8))
            throw ExitCode(2)
        }
    }

    private func follow() throws {
        var (done, run) = (0, seed)
        while done < commits {
            for store in [StoreUnderTest.sqlite, .lmdb, .inMemory] where done < commits {
                let wanted = min(Self.commitsOfAStore, commits - done)
                let report = try LiveQueryTest(seed: run, commits: wanted).run(against: store)
                done += report.commits
                print("\(store): \(report); \(done) commits in all")
                fflush(nil)
            }
            run += 1
        }
        print("no disagreement in \(done) commits")
    }
}
