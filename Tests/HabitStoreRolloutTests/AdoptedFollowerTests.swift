import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// An operator accepted the new store while it was a mirror that had no record of the rollout, and the user ended at `off` with the engines
/// exchanged. A kill right after that reported every user on the old store but moved no user there, and the doctor took the evidence for another
/// user's.
struct AdoptedFollowerTests {
    @Test(arguments: [Stage.dualwrite, .shadow], EngineName.standard)
    func theUserOfAnAdoptedNewStoreHasCompletedTheWay(stage: Stage, old: EngineName) throws {
        let user = try StagedUser(at: stage, old: old) { try $0.save(Habit(name: "Run")) }
        let stores = try user.stores()
        _ = try stores.adopt(user.new, for: "alice", by: "a test", because: "the old disk goes")
        let status = try stores.status(of: "alice")
        #expect(status.stage == .complete)
        #expect(status.engine == user.new)
        #expect(try stores.examine("alice").isEmpty)
        #expect(try stores.verifyEvidence(of: "alice").isWhole)
        // Before any other process opens the user.
        try user.want(stage.rawValue, kill: true)
        let killed = try user.stores().store(for: "alice")
        defer { killed.close() }
        #expect(try killed.applyKill())
        #expect(try killed.stage() == .off)
        #expect(try killed.engine() == old)
        #expect(try killed.all(Habit.self).map(\.name) == ["Run"])
    }
}
