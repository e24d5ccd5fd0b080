import Testing
import Trials

/// Runs the soak of shadow reads as a process: `make test` and `make soak-shadow` run it for longer.
@Suite(.timeLimit(.minutes(5)))
struct ShadowSoakTests {
    @Test func noReadDiffersWhileEightWritersAreAtWork() throws {
        let seed = UInt64.random(in: 0...9_999)
        let found = try TrialsExecutable.run(["soak", "--reads", "500", "--seed", "\(seed)"])
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("seed \(seed)"))
        #expect(found.output.contains("no false alarm"))
    }

    /// A run in which most reads could not be compared proves nothing.
    @Test func tooFewComparisonsAreAFailure() throws {
        let found = try TrialsExecutable.run(["soak", "--reads", "1000000", "--limit-seconds", "0.2"])
        #expect(found.status == 1, "\(found.output)")
        #expect(found.output.contains("FAILED"))
    }
}
