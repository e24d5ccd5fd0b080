import Testing
import Trials

/// Runs the trial of live queries over whole rollouts as a process: `make fuzz-live` runs it for longer.
@Suite(.timeLimit(.minutes(5)))
struct LiveRolloutTests {
    /// Two processes write and are killed, while the user is moved, killed, closed for others and reopened.
    @Test func whoFollowsAUserIsToldEverythingOnceThroughAWholeRollout() throws {
        let seed = UInt64.random(in: 0...9_999)
        let found = try TrialsExecutable.run(["live-rollout", "--rounds", "2", "--steps", "12", "--seed", "\(seed)"])
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.hasPrefix("seed \(seed)\n"))
        #expect(found.output.contains("\n0 violations"))
    }
}
