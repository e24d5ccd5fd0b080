import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// The count of operations, by which routes and files are let go.
struct RouteReferenceTests {
    /// Each route that was replaced was kept until the app let go of the user: a user whose writes were refused again and
    /// again had one more with each.
    @Test func routesThatWereReplacedAreLetGoWhenNoOperationIsUnderWay() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let store = try fixture.stores().store(for: "alice")
        defer { store.close() }
        weak let first = store.route.present
        #expect(first != nil)
        try store.read { _ in
            _ = try store.recheck()
            _ = try store.all(Habit.self)
            #expect(store.route.present !== first)
            #expect(first != nil)
        }
        #expect(first == nil)
        #expect(try store.all(Habit.self).isEmpty)
    }

    @Test func filesAreClosedOnlyWhileNoOperationIsUnderWay() {
        let reference = RouteReference()
        #expect(reference.isShut)
        #expect(!reference.begin())
        reference.open()
        #expect(!reference.shut())
        #expect(reference.begin())
        reference.end()
        #expect(!reference.isUnused() && !reference.shut())
        reference.end()
        // The mark of recent use protects once.
        #expect(!reference.shut())
        #expect(!reference.isUnused())
        #expect(reference.isUnused())
        #expect(reference.shut())
        #expect(reference.isShut && !reference.isUnused() && !reference.shut())
        let work = reference.beginWork()
        #expect(!work.isOpen)
        reference.open()
        #expect(reference.shut())
    }

    @Test func workThatUsesTheUserByTheWayLeavesNoMark() {
        let reference = RouteReference()
        reference.open()
        let work = reference.beginWork()
        #expect(work.isOpen && !work.wasUsed)
        #expect(reference.begin())
        reference.end()
        #expect(!reference.shut())
        reference.endWork(wasUsed: work.wasUsed)
        #expect(reference.shut())
    }
}
