import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// The count of operations decides when routes and files are released.
struct LeaseTests {
    /// Each replaced route was kept until the app released the user: a user whose writes were refused again and again had one more after each.
    @Test func routesThatWereReplacedAreLetGoWhenNoOperationIsUnderWay() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let store = try fixture.stores().store(for: "alice")
        defer { store.close() }
        weak let first = store.files.leases.present
        #expect(first != nil)
        try store.read { _ in
            _ = try store.opened().recheck()
            _ = try store.all(Habit.self)
            #expect(store.files.leases.present !== first)
            #expect(first != nil)
        }
        #expect(first == nil)
        #expect(try store.all(Habit.self).isEmpty)
    }

    @Test func filesAreClosedOnlyWhileNoOperationIsUnderWay() throws {
        let (leases, user) = try leases()
        #expect(leases.isShut)
        #expect(!isUnderWay(leases))
        do {
            // An operation that finds the files closed opens them.
            let first = leases.begin {
                leases.open()
                return user
            }
            #expect(first.user === user)
            #expect(!leases.shut())
            let second = leases.begin { user }
            #expect(second.user === user)
            #expect(!leases.isUnused() && !leases.shut())
        }
        // The mark of recent use protects once.
        #expect(!leases.shut())
        #expect(!leases.isUnused())
        #expect(leases.isUnused())
        #expect(leases.shut())
        #expect(leases.isShut && !leases.isUnused() && !leases.shut())
        #expect(!isUnderWay(leases))
        leases.open()
        #expect(leases.shut())
    }

    @Test func anOperationThatCouldNotOpenTheUserIsNotUnderWay() throws {
        let (leases, _) = try leases()
        struct Unopenable: Error {}
        #expect(throws: Unopenable.self) { _ = try leases.begin { throw Unopenable() }.user }
        leases.open()
        #expect(!leases.isUnused())
        #expect(leases.isUnused() && leases.shut())
    }

    @Test func workThatUsesTheUserByTheWayLeavesNoMark() throws {
        let (leases, user) = try leases()
        leases.open()
        do {
            guard let work = leases.beginWork() else {
                Issue.record("work in the background finds the files closed")
                return
            }
            #expect(work.user === user)
            let operation = leases.begin { user }
            #expect(operation.user === user)
            #expect(!leases.shut())
        }
        #expect(leases.shut())
    }

    /// Whether work in the background can begin; it ends immediately.
    private func isUnderWay(_ leases: Leases) -> Bool {
        guard let lease = leases.beginWork() else { return false }
        return withExtendedLifetime(lease) { true }
    }

    /// The leases of a user whose files are closed.
    private func leases() throws -> (Leases, OpenUser) {
        let store = try UserStoresFixture(.sqlite).stores().store(for: "alice")
        let leases = Leases()
        let user = OpenUser(store.files.context, leases) {}
        leases.install(user)
        return (leases, user)
    }
}
