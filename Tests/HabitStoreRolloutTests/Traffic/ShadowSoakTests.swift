import Testing
import Trials

/// The soak of shadow reads, as a process: `make test` and `make soak-shadow` run it for longer.
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

    /// That most reads could not be compared would prove nothing.
    @Test func tooFewComparisonsAreAFailure() throws {
        let found = try TrialsExecutable.run(["soak", "--reads", "1000000", "--limit-seconds", "0.2"])
        #expect(found.status == 1, "\(found.output)")
        #expect(found.output.contains("FAILED"))
    }
}
