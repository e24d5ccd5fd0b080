import FeatureFlags
import Foundation
import HabitStore
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreRollout

/// An app that wanted to know which stage each user gets had only the hook of `FlagProvider`, and the rollout created its own provider and reported
/// nothing.
struct RolloutExposureTests {
    @Test func hooksAreToldWhatTheFlagsWantForAUser() throws {
        let user = try StagedUser()
        let exposures = Exposures()
        let stores = try user.stores {
            $0.exposureHooks = [FlagExposureHook(hashKey: Data(repeating: 7, count: 32), onExposure: exposures.add)]
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        let first = exposures.take()
        #expect(Set(first.map(\.flagKey)) == [RolloutFlags.stage, RolloutFlags.old, RolloutFlags.new])
        let stage = try #require(first.first { $0.flagKey == RolloutFlags.stage })
        #expect(stage.variant == "off" && stage.reason == .static && stage.errorCode == nil)
        let subject = try #require(stage.subject)
        #expect(!subject.contains("alice") && first.allSatisfy { $0.subject == subject })
        // Operations do not evaluate the flags again, and inspecting a user is not an exposure.
        try store.save(Habit(name: "Run"))
        _ = try store.all(Habit.self)
        _ = try stores.status(of: "alice")
        #expect(exposures.take().isEmpty)
        try user.want("dualwrite")
        store.files.context.flags.provider.reload()
        _ = try store.all(Habit.self)
        #expect(exposures.take().filter { $0.flagKey == RolloutFlags.stage }.map(\.variant) == ["dualwrite"])
    }
}
