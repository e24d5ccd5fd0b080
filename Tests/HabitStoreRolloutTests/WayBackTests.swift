import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// Ways back that have more to do than to change a role.
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

    /// At `complete` the old store is left behind, and the new one's history was forgotten since: the kill switch had nothing
    /// to bring the old store up with, and the user stayed on the new one, for reading only, until somebody copied by hand.
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
        #expect(try store.land())
        #expect(try store.stage() == .off)
        #expect(try store.engine() == old)
        try store.save(Habit(name: "Back"))
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Back", "Late", "Read", "Run"])
    }

    /// The new store turns out to be damaged while it serves: one read is told so, and the next is served by the old store.
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

    /// At `complete` an old store that is sealed, or was only just made, was taken for one that holds everything: with a new
    /// store that fails, the kill switch would have landed on what the user had long ago, or on nothing. It lands there only
    /// once the new one was read to bring it up.
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
        let actual = try #require(try change.settle(Engines.standard.pair(old: old)))
        // What a move directly to `complete` leaves of the old store when it cannot write to it any more.
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
        let landed = try change.kill(try #require(try change.settle(Engines.standard.pair(old: old))))
        #expect(landed.engine == old)
        plan.heal()
        change.control.publish(landed.stage, epoch: landed.epoch)
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Late", "Read", "Run"])
        #expect(try store.engine() == old)
    }
}
