import FeatureFlags
import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import Testing

@testable import HabitStoreRollout

/// New attributes for an open user were ignored: those of the first call stayed until the store was closed.
struct AttributeTests {
    @Test func theFlagFileIsAskedWithTheLastAttributes() throws {
        let user = try StagedUser()
        try Data(
            """
            {"flags": {"habit-store-stage": {
              "state": "ENABLED", "variants": {"off": "off", "dualwrite": "dualwrite"}, "defaultVariant": "off",
              "targeting": {"if": [{"==": [{"var": "ring"}, "inner"]}, "dualwrite", "off"]}
            }}}
            """.utf8
        ).write(to: URL(fileURLWithPath: user.flags))
        let stores = try user.stores()
        let store = try stores.store(for: "alice", attributes: ["ring": "outer"])
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(store.wantedStage == .off)
        #expect(try stores.store(for: "alice", attributes: ["ring": "inner"]) === store)
        try store.save(Habit(name: "Read"))
        #expect(store.wantedStage == .dualwrite)
        #expect(try stores.status(of: "alice").wanted == .dualwrite)
        #expect(try store.advance()?.isOpen == true)
        #expect(try store.stage() == .dualwrite)
        // A call without attributes changes nothing.
        #expect(try stores.store(for: "alice") === store)
        #expect(try store.stage() == .dualwrite && store.wantedStage == .dualwrite)
        #expect(try stores.store(for: "alice", attributes: [:]) === store)
        #expect(try store.stage() == .off)
        #expect(store.wantedStage == .off)
    }

    @Test func aProviderIsAskedWithTheLastAttributes() throws {
        let provided = try ProvidedUser()
        provided.flags.change { $0.flags["tester-\(RolloutFlags.kill)"] = .bool(true) }
        let stores = try provided.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try !store.applyKill())
        _ = try stores.store(for: "alice", attributes: ["isTester": .bool(true)])
        #expect(try store.applyKill())
    }

    @Test func theSameAttributesAskNobodyAgain() throws {
        let provided = try ProvidedUser()
        let stores = try provided.stores()
        let store = try stores.store(for: "alice", attributes: ["isTester": .bool(false)])
        defer { store.close() }
        _ = try store.stage()
        let asked = provided.flags.asked
        _ = try stores.store(for: "alice", attributes: ["isTester": .bool(false)])
        _ = try store.stage()
        #expect(provided.flags.asked == asked)
    }
}
