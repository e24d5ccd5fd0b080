import Foundation
import Testing
import Trials

/// A short version of `make failover`. Next to a thousand other tests, killing servers takes longer than the time limits here, so it runs only with
/// `HABITSTORE_FAILOVER=1`.
@Suite(
    "PostgreSQL: servers that fail",
    .needsServer,
    .enabled(if: ProcessInfo.processInfo.environment["HABITSTORE_FAILOVER"] == "1")
)
struct FailoverTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../scripts/postgres.sh").standardizedFileURL.path

    private func run(_ arguments: [String]) throws {
        let run = try TrialsExecutable.run(["failover", "--script", Self.script, "--wait-seconds", "0.5"] + arguments)
        print(run.output)
        #expect(run.status == 0)
        #expect(run.output.contains("nothing lost, nothing duplicated, no closure run twice"))
    }

    @Test func acknowledgedWritesOutliveTheirPrimary() throws {
        try run(["--rounds", "2", "--only", "kill", "--seed", "\(UInt64.random(in: 1...1_000))"])
    }

    /// Nothing is acknowledged while no server has a standby: see `FailoverCheck`.
    @Test(arguments: ["lives-on", "frozen-standby"])
    func aServerWithoutItsStandbyAcknowledgesNothing(_ trouble: String) throws {
        try run(["--rounds", "1", "--only", trouble])
    }
}
