import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A person accepted the new store while it only followed: it knew nothing of the rollout, and the user came to `off` with the
/// engines exchanged. A kill right after it said that everybody was on the old store and took nobody there, and the doctor
/// called the evidence another's.
struct AdoptedFollowerTests {
    @Test(arguments: [Stage.dualwrite, .shadow], EngineName.standard)
    func theUserOfAnAdoptedNewStoreHasCompletedTheWay(stage: Stage, old: EngineName) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: stage)
        store.close()
        let stores = try user.stores()
        _ = try stores.adopt(user.new, for: "alice", by: "a test", because: "the old disk goes")
        let status = try stores.status(of: "alice")
        #expect(status.stage == .complete)
        #expect(status.engine == user.new)
        #expect(try stores.examine("alice").isEmpty)
        #expect(try stores.verifyEvidence(of: "alice").isWhole)
        // Before anything else has opened the user.
        try user.want(stage.rawValue, kill: true)
        let killed = try user.stores().store(for: "alice")
        defer { killed.close() }
        #expect(try killed.land())
        #expect(try killed.stage() == .off)
        #expect(try killed.engine() == old)
        #expect(try killed.all(Habit.self).map(\.name) == ["Run"])
    }
}
