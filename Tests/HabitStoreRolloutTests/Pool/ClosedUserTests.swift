import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// A user whose files were closed to make room for another user, while the app kept the handle.
struct ClosedUserTests {
    private func closeForAnother(_ store: UserStore) throws {
        _ = store.files.leases.present?.mirror?.waitUntilIdle(waitSeconds: 60)
        store.drainShadowReads(seconds: 60)
        // The first call clears the mark of recent use.
        _ = store.files.closeForAnother(isPatient: true)
        try #require(store.files.leases.isShut || store.files.closeForAnother(isPatient: true))
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live, .rampdown, .complete])
    func theKillSwitchLandsOnAUserWhoWasClosed(_ stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        defer { store.close() }
        try store.save(Habit(id: SampleRecords.id(900), name: "before"))
        try closeForAnother(store)
        try user.pullTheKillSwitch(store)
        #expect(store.files.leases.isShut)
        if stage == .complete { #expect(try store.applyKill()) }
        #expect(try store.model(Habit.self, id: SampleRecords.id(900))?.name == "before")
        #expect(try store.stage() == .off)
        #expect(try store.engine() == .sqlite)
    }

    @Test func aMoveByAnotherProcessHoldsForAUserWhoWasClosed() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try closeForAnother(store)
        let other = try user.stores().store(for: "alice")
        try user.bring(other, to: .live)
        try other.save(Habit(name: "Swim"))
        other.close()
        store.files.context.flags.provider.reload()
        #expect(store.files.leases.isShut)
        #expect(try store.all(Habit.self).count == 2)
        #expect(try store.engine() == .lmdb)
        try store.save(Habit(name: "Walk"))
        #expect(try store.all(Habit.self).count == 3)
    }

    @Test func aToggleIsMadeWhenTheAppAsksForTheUserAgain() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let stores = try fixture.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try fixture.want(.lmdb)
        stores.reloadFlags()
        try closeForAnother(store)
        // An operation never waits for a full copy.
        #expect(try store.engine() == .sqlite)
        try closeForAnother(store)
        #expect(try stores.store(for: "alice") === store)
        #expect(try store.engine() == .lmdb)
        #expect(try fixture.names(store) == ["Run"])
    }

    @Test func aMirrorThatIsAtWorkKeepsItsUserOpenUntilSomebodyHasWaited() throws {
        let user = try FaultyUser(at: .dualwrite)
        let store = try user.open()
        defer { store.close() }
        _ = store.files.leases.present?.mirror?.waitUntilIdle(waitSeconds: 60)
        let plan = try user.plan(.new)
        plan.inject(Fault(.hang, on: .writes, at: .beginning))
        try store.save(Habit(id: SampleRecords.id(900), name: "unmirrored"))
        #expect(plan.waitForStrikes(1, seconds: 60))
        for _ in 0..<3 { #expect(!store.files.closeForAnother(isPatient: true)) }
        #expect(!store.files.leases.isShut)
        #expect(store.files.closeForAnother(isPatient: false))
        if case .none = store.mirrorStatus { Issue.record("how far the mirror was is forgotten") }
        user.heal()
        // The history has what the mirror lacks.
        #expect(try store.model(Habit.self, id: SampleRecords.id(900)) != nil)
        #expect(store.files.leases.present?.mirror?.waitUntilIdle(waitSeconds: 60) == true)
        store.close()
        let mirrored = try user.contents(.new) { try $0.model(Habit.self, id: SampleRecords.id(900))?.name }
        #expect(mirrored == "unmirrored")
    }

    @Test func comparisonsOfAUserWhoWasClosedAreInTheEvidence() throws {
        let user = try ShadowedUser()
        for _ in 0..<5 { _ = try user.store.all(Habit.self) }
        #expect(!user.store.files.closeForAnother(isPatient: true))
        user.store.drainShadowReads(seconds: 60)
        let before = try user.store.files.context.evidence.log.read().records.count
        #expect(user.store.files.closeForAnother(isPatient: true))
        let records = try user.store.files.context.evidence.log.read().records[before...]
        let clean = records.map { record in
            if case .shadowReads(_, let clean, _, _, _, _, _, _, _) = record.event { clean } else { 0 }
        }
        #expect(clean.reduce(0, +) == 5)
    }

    /// A comparison was still running when the user was closed to make room: the difference that it found was not reported, and the user stayed at
    /// `live`.
    @Test func aDifferenceThatIsFoundWhileTheFilesAreClosedTakesTheUserBack() throws {
        let user = try ShadowedUser(at: .live)
        // The comparing threads keep the stores that they compare.
        let shadow = try #require(user.store.files.leases.present?.shadow)
        for _ in 0..<3 where !user.store.files.leases.isShut { _ = user.store.files.closeForAnother(isPatient: false) }
        #expect(user.store.files.leases.isShut)
        let answers = (mine: "1", theirs: "2")
        shadow.onDifference(.init(kind: .count, token: .zero, shape: "all habits", answers: answers))
        #expect(try user.differences().count == 1)
        #expect(try user.store.stage() == .shadow)
    }

    @Test func workInTheBackgroundNeitherOpensNorKeepsAUser() throws {
        let user = try StagedUser()
        let stores = try user.stores { options in
            options.advancesByItself = true
            options.advanceSeconds = 1_000
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.opened().advancer.withLock { $0 != nil })
        try user.want("dualwrite")
        stores.reloadFlags()
        // Clears the mark.
        #expect(!store.files.closeForAnother(isPatient: true))
        _ = try store.stage()
        #expect(!store.files.closeForAnother(isPatient: true))
        store.files.advanceByItself()
        #expect(store.files.leases.present?.actual.stage == .dualwrite)
        _ = store.files.leases.present?.mirror?.waitUntilIdle(waitSeconds: 60)
        // Background work does not count as use.
        #expect(store.files.closeForAnother(isPatient: true))
        store.files.advanceByItself()
        #expect(store.files.leases.isShut)
        #expect(stores.openUserCount == 0)
    }

    @Test func closingLetsGoOfEverythingThatAnOpenUserHolds() throws {
        let user = try FaultyUser(at: .shadow)
        let store = try user.open()
        defer { store.close() }
        _ = try store.all(Habit.self)
        weak let route = store.files.leases.present
        weak let open = store.files.leases.openUser
        weak let control = open?.control
        weak let mirror = open?.state.withLock { $0.mirror }
        weak let pair = open?.pair
        #expect(route != nil && open != nil && control != nil && mirror != nil && pair != nil)
        try closeForAnother(store)
        // The mirror's and the comparer's threads may still be ending.
        for _ in 0..<1_000 where mirror != nil || pair != nil || open != nil { usleep(10_000) }
        #expect(route == nil && open == nil && control == nil && mirror == nil && pair == nil)
    }
}
