import Testing
import Trials

/// A small one of the drills that `make fleet-drill` runs with 100,000 users.
struct FleetDrillTests {
    /// Users go all the way while two processes write, one new store has a fault, and runs are killed; the kill switch lands, and old stores
    /// are removed. The drill prints its seed and its figures.
    @Test func aFleetGoesAllTheWayAndLosesNobody() throws {
        let found = try TrialsExecutable.run([
            "fleet-drill", "--indexed", "100", "--users", "40", "--killed", "12", "--kills", "6", "--writers", "2",
        ])
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("each once"))
    }
}
