import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A suspended process remembers the flags and the kill switch of an hour ago. Stores that do not watch their files stand in for it: nothing notifies
/// them of changes after the first read.
struct OldLookTests {
    private let user: StagedUser

    init() throws { user = try StagedUser() }

    private var sentinel: URL { URL(fileURLWithPath: RolloutFlags.sentinelPath(root: user.root)) }

    /// Another process opens a user, runs `body`, and ends.
    @discardableResult
    private func other<R>(_ name: String = "alice", _ body: (UserStores, UserStore) throws -> R) throws -> R {
        let stores = try user.stores()
        return try stores.with(name) { try body(stores, $0) }
    }

    private func isKilled() throws -> Bool { try user.stores().status(of: "alice").isKilled }

    /// A watcher that started while the kill switch was pulled recorded the kill again after the re-arm, when its user was moved: every user under
    /// the root went back to the old store, even those at `complete`.
    @Test func whoSleptThroughARearmPullsNoKill() throws {
        for name in ["alice", "bob"] { try other(name) { try $1.save(Habit(name: "Run")) } }
        try Data().write(to: sentinel)
        let slept = try user.stores().store(for: "alice")
        defer { slept.close() }
        #expect(try slept.applyKill())
        try FileManager.default.removeItem(at: sentinel)
        let rearmed = try other { stores, store in (try stores.rearmRoot(), try store.rearm(by: "test")) }
        #expect(rearmed == (true, true))
        try other("bob") { _, store in try user.bring(store, to: .dualwrite) }
        // It finds its user moved, and determines what to do.
        try slept.save(Habit(name: "Swim"))
        #expect(KillSwitch(StoreRoot(user.root)).latched == nil)
        #expect(try !isKilled())
        try other("bob") { _, store in
            try store.save(Habit(name: "Swim"))
            #expect(try store.stage() == .dualwrite)
        }
    }

    @Test func whoSleptThroughARearmByTheFlagPullsNoKill() throws {
        try user.want("off", kill: true)
        let slept = try user.stores().store(for: "alice")
        defer { slept.close() }
        try slept.save(Habit(name: "Run"))
        #expect(try slept.applyKill())
        try user.want("dualwrite")
        let isForward = try other { _, store in try store.rearm(by: "test") && store.advance()?.isOpen == true }
        #expect(isForward)
        try slept.save(Habit(name: "Swim"))
        #expect(try slept.stage() == .dualwrite)
        #expect(try !isKilled())
    }

    /// While a process watched, no user could advance: at each move the watcher applied the flags that it had read when it started.
    @Test func whoSleptThroughAPromotionTakesNobodyBack() throws {
        let slept = try user.stores().store(for: "alice")
        defer { slept.close() }
        try slept.save(Habit(name: "Run"))
        try other { _, store in try user.bring(store, to: .shadow) }
        try slept.save(Habit(name: "Swim"))
        #expect(try slept.stage() == .shadow)
        #expect(slept.wantedStage == .shadow)
    }

    @Test func whoSleptThroughAKillTakesNobodyForward() throws {
        let slept = try user.stores().store(for: "alice")
        defer { slept.close() }
        try slept.save(Habit(name: "Run"))
        try user.want("dualwrite")
        slept.reloadFlags()
        try Data().write(to: sentinel)
        #expect(try slept.promote().isOpen == false)
        #expect(try slept.stage() == .off)
        #expect(try isKilled())
    }

    @Test func aRearmLooksWhetherTheKillIsStillPulled() throws {
        try other { try $1.save(Habit(name: "Run")) }
        try Data().write(to: sentinel)
        let slept = try user.stores().store(for: "alice")
        defer { slept.close() }
        #expect(try slept.applyKill())
        try FileManager.default.removeItem(at: sentinel)
        #expect(try user.stores().rearmRoot())
        #expect(try slept.rearm(by: "test"))
    }

    /// A copy takes minutes, and at its end the flags were not evaluated again, although they might no longer want the new engine.
    @Test func anEngineThatIsNotWantedAnyMoreAfterTheCopyIsNotTaken() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try SampleRecords.fill($0) }
        try fixture.want(.lmdb)
        var failure: (any Error)?
        let store = try fixture.stores().store(for: "alice") { what, _, _ in
            guard what == "copying" else { return }
            do { try fixture.want(.sqlite) } catch { failure = error }
        }
        defer { store.close() }
        #expect(failure == nil)
        #expect(try store.engine() == .sqlite)
        #expect(store.notes.contains { $0.contains("changed while the copy was made") }, "\(store.notes)")
        try store.save(Habit(name: "continues"))
    }

    /// In an app or command that does not advance its users automatically, a kill took effect only with the user's next operation.
    @Test(arguments: [false, true])
    func whoDoesNothingIsTakenBackAllTheSame(byFlag: Bool) throws {
        let idle = try user.stores {
            $0.followsFlags = true
            $0.advanceSeconds = 0.05
        }.store(for: "alice")
        defer { idle.close() }
        try idle.save(Habit(name: "Run"))
        try user.bring(idle, to: .live)
        if byFlag { try user.want("live", kill: true) } else { try Data().write(to: sentinel) }
        let stores = try user.stores()
        let end = Date() + 20
        while try stores.status(of: "alice").stage != .off, Date() < end { usleep(20_000) }
        #expect(try stores.status(of: "alice").isKilled)
        #expect(try stores.status(of: "alice").stage == .off)
    }
}
