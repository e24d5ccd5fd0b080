import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// Ways back that need more than a change of role.
struct WayBackTests {
    /// A user's store whose new side fails when the plan says so.
    private func open(_ user: StagedUser, failingBy plan: FaultPlan) throws -> UserStore {
        let old = user.old
        return try user.stores { options in
            options.opener = { address, access, schema in
                guard address.engine != old else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(plan, path: address.path) { try address.open(access, schema: schema) }
            }
        }.store(for: "alice")
    }

    /// At `complete` the old store is not updated, and the new one's history had been pruned since: the kill switch could not bring the old store up
    /// to date, and the user stayed on the new one, read-only, until someone copied by hand.
    @Test(arguments: EngineName.standard)
    func theKillSwitchLandsFromCompleteAlsoWithoutAHistory(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .complete)
        try store.save(Habit(name: "Late"))
        let token = try store.read { try $0.currentToken() }
        try store.write(author: nil) { try $0.pruneHistory(through: token) }
        try user.want("complete", kill: true)
        store.files.context.flags.provider.reload()
        #expect(throws: HabitStoreError.self) { try store.save(Habit(name: "Refused")) }
        #expect(try store.all(Habit.self).count == 3)
        #expect(try store.stage() == .complete)
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
        #expect(try store.engine() == old)
        try store.save(Habit(name: "Back"))
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Back", "Late", "Read", "Run"])
    }

    /// The new store turns out to be damaged while it serves: one read fails, and the old store serves the next.
    @Test(arguments: EngineName.standard)
    func aNewStoreThatIsDamagedWhileItServesIsLeft(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let plan = FaultPlan()
        let store = try open(user, failingBy: plan)
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .live)
        plan.inject(Fault(.fail(.corrupt), on: [.read]))
        let error = #expect(throws: HabitStoreError.self) { try store.all(Habit.self) }
        #expect(error?.code == .corrupt)
        #expect(try store.all(Entry.self).count == 20)
        #expect(try store.engine() == old)
        try store.save(Habit(name: "Still takes writes"))
    }

    /// At `complete` a sealed or newly created old store was taken for a complete one: with a failing new store, the kill switch would have moved the
    /// user to very old data, or to none. Now it moves the user only after reading the new store to bring the old one up to date.
    @Test(arguments: EngineName.standard, [StoreRole.sealed, .authoritative])
    func theKillSwitchNeverLandsOnAStoreThatWasLeftBehind(old: EngineName, role: StoreRole) throws {
        let user = try StagedUser(old: old)
        let plan = FaultPlan()
        let store = try open(user, failingBy: plan)
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .complete)
        try store.save(Habit(name: "Late"))
        let change = StageSwitch(
            pair: try store.opened().pair,
            control: try ControlFile(path: user.directory.path + "/control"),
            stepLimitSeconds: 5
        )
        let actual = try #require(try change.recover(Engines.standard.pair(old: old)))
        // The state that a direct move to `complete` leaves in the old store when it can no longer write to it.
        let state = RolloutState(stage: .off, engines: Engines.standard.pair(old: old), movingTo: .complete)
        try store.opened().pair.store(old).replicate { replica in
            try replica.setRole(role, epoch: role == .sealed ? 1 : 0)
            try replica.setRolloutState(try state.encoded())
        }
        plan.inject(Fault(.fail(.inputOutput), on: [.write, .replicate, .read, .replicaRead]))
        let error = #expect(throws: HabitStoreError.self) { try change.kill(actual) }
        #expect(error?.code == .notAuthoritative)
        plan.heal()
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Late", "Read", "Run"])
        #expect(try store.stage() == .complete)
        plan.inject(Fault(.fail(.inputOutput), on: [.write, .replicate]))
        let landed = try change.kill(try #require(try change.recover(Engines.standard.pair(old: old))))
        #expect(landed.engine == old)
        plan.heal()
        change.control.publish(landed.stage, epoch: landed.epoch)
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Late", "Read", "Run"])
        #expect(try store.engine() == old)
    }
}
