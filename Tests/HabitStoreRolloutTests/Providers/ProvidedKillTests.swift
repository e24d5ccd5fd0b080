import FeatureFlags
import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// The kill switch wins over any provider, and waits for none.
struct ProvidedKillTests {
    /// Blocks callers until a test opens it.
    private final class Gate: Sendable {
        private let isOpen = Atomic<Bool>(false)

        func wait() { while !isOpen.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.002) } }
        func open() { isOpen.store(true, ordering: .releasing) }
    }

    private func hanging(_ gate: Gate, _ key: String) -> (inout ScriptedFlags.Script) -> Void {
        { script in
            script.faults[key] = { _ in
                gate.wait()
                return .missing("a flag")
            }
        }
    }

    @Test func theKillFlagOfAProviderTakesAUserBack() throws {
        let provided = try ProvidedUser()
        let stores = try provided.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try provided.bring(store, to: .live)
        provided.flags.change { $0.flags[RolloutFlags.kill] = .bool(true) }
        store.reloadFlags()
        #expect(try store.stage() == .off && store.applyKill())
        #expect(try stores.status(of: "alice").killTrigger == "the flag habit-store-kill is true (variant v)")
        // The kill is latched, for this user alone.
        #expect(stores.flags.killSwitch.latched == nil)
        #expect(throws: HabitStoreError.self) { try store.rearm(by: "test") }
        provided.flags.change { $0.flags[RolloutFlags.kill] = .bool(false) }
        store.reloadFlags()
        #expect(try store.applyKill())
        #expect(try store.rearm(by: "test"))
        #expect(try !store.applyKill())
    }

    @Test func theKillFlagWinsWhereAllOtherFlagsFail() throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        defer { store.close() }
        try provided.bring(store, to: .live)
        provided.flags.change { script in
            script.flags[RolloutFlags.kill] = .bool(true)
            script.faults[RolloutFlags.old] = { _ in throw ScriptedFlags.Failure() }
        }
        store.reloadFlags()
        #expect(try store.stage() == .off && store.applyKill())
    }

    @Test func theKillFlagWinsWhereAnotherFlagHangs() throws {
        let provided = try ProvidedUser()
        let store = try provided.stores { $0.flagWaitSeconds = 0.1 }.store(for: "alice")
        defer { store.close() }
        provided.flags.want(.dualwrite)
        store.reloadFlags()
        let gate = Gate()
        defer { gate.open() }
        provided.flags.change { $0.flags[RolloutFlags.kill] = .bool(true) }
        provided.flags.change(hanging(gate, RolloutFlags.old))
        store.reloadFlags()
        #expect(try store.applyKill())
        #expect(store.notes.contains { $0.contains("has not answered for 0.1 s") })
    }

    @Test func theSentinelFileNeedsNothingOfTheProvider() throws {
        let provided = try ProvidedUser()
        let stores = try provided.stores { $0.flagWaitSeconds = 30 }
        let store = try stores.store(for: "alice")
        try store.save(Habit(name: "Run"))
        try provided.bring(store, to: .live)
        let gate = Gate()
        defer { gate.open() }
        provided.flags.change(hanging(gate, ""))
        let asked = provided.flags.asked
        try SentinelFile(path: RolloutFlags.sentinelPath(root: provided.user.root)).create()
        store.reloadFlags()
        #expect(try store.applyKill() && store.stage() == .off)
        store.close()
        // Also in a process that knows nothing yet, about this user or one that no process has opened.
        let other = try provided.stores { $0.flagWaitSeconds = 30 }
        for user in ["alice", "berta"] {
            let opened = try other.store(for: user)
            defer { opened.close() }
            #expect(try opened.applyKill() && opened.stage() == .off)
            #expect(opened.notes.contains { $0.contains("is not asked while the sentinel file is there") })
        }
        #expect(provided.flags.asked == asked)
        #expect(other.flags.killSwitch.latched != nil)
    }

    @Test func nobodyIsRearmedWhileTheProviderDoesNotSayThatNobodyKills() throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        defer { store.close() }
        provided.flags.change { $0.flags[RolloutFlags.kill] = .bool(true) }
        store.reloadFlags()
        #expect(try store.applyKill())
        provided.flags.change { $0.faults[""] = { _ in throw ScriptedFlags.Failure() } }
        let error = try #require(throws: HabitStoreError.self) { try store.rearm(by: "test") }
        #expect(error.message.contains("it is unknown whether the kill switch is still pulled"))
        provided.flags.change { script in
            script.faults = [:]
            script.flags[RolloutFlags.kill] = nil
        }
        #expect(try store.rearm(by: "test"))
    }

    @Test func aProviderThatHangsIsAskedNoMoreUntilItAnswers() throws {
        let provided = try ProvidedUser()
        let store = try provided.stores { $0.flagWaitSeconds = 0.02 }.store(for: "alice")
        defer { store.close() }
        let gate = Gate()
        defer { gate.open() }
        provided.flags.change(hanging(gate, ""))
        let before = provided.flags.asked
        for _ in 0..<ProvidedFlags.mostOverdue + 12 {
            store.reloadFlags()
            try store.save(Habit(name: "Run"))
        }
        #expect(provided.flags.asked - before <= ProvidedFlags.mostOverdue)
        #expect(store.notes.contains { $0.contains("is not asked before it has") })
        provided.flags.change { $0.faults = [:] }
        gate.open()
        let end = ContinuousClock.now + .seconds(20)
        repeat {
            store.reloadFlags()
            _ = try store.stage()
        } while store.wantedStage != .off && ContinuousClock.now < end
        #expect(store.wantedStage == .off && store.notes.isEmpty)
    }
}
