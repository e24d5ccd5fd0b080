import Testing
import Trials

/// A small version of the drill that `make fleet-drill` runs with 100,000 users.
struct FleetDrillTests {
    /// Users complete the rollout while two processes write, one new store has a fault, and runs are killed; the kill switch takes effect, and old
    /// stores are removed. The drill prints its seed and its figures.
    @Test func aFleetGoesAllTheWayAndLosesNobody() throws {
        let found = try TrialsExecutable.run([
            "fleet-drill", "--indexed", "100", "--users", "40", "--killed", "12", "--kills", "6", "--writers", "2",
        ])
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("exactly once"))
    }
}
