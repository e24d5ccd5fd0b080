import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// How many users are open at the same time, and which one is closed for another.
struct UserPoolTests {
    /// Each user whose handle an app kept held three to fifteen files open forever: with many users the process ran out of them, and no other user
    /// could be served.
    @Test func anyNumberOfHandlesIsServedWithAFewUsersOpen() throws {
        let users = try PooledUsers(limit: 3)
        let handles = try (0..<40).map { try users.store("user-\($0)") }
        for (number, store) in handles.enumerated() {
            try store.save(Habit(name: "of \(number)"))
            #expect(users.stores.openUserCount <= 3)
            #if os(Linux)
            #expect(try users.usersWithOpenFiles().count <= 3)
            #endif
        }
        for (number, store) in handles.enumerated() {
            #expect(try store.all(Habit.self).map(\.name) == ["of \(number)"])
        }
        #expect(users.stores.openUserCount == 3)
        #expect(users.stores.madeRoomCount >= 3 * 37)
    }

    @Test func aUserWhoIsUsedAgainAndAgainStaysOpen() throws {
        let users = try PooledUsers(limit: 3)
        let busy = try users.store("busy")
        for number in 0..<30 {
            _ = try busy.all(Habit.self)
            let other = try users.store("user-\(number)")
            try other.save(Habit(name: "Run"))
            other.keepsAlive()
        }
        // Once at the start, and at most once more: the first round of the clock hand clears every user's mark.
        #expect(try users.openings(of: "busy") <= 2)
    }

    @Test func anOperationKeepsItsUserOpen() throws {
        let users = try PooledUsers(limit: 1) { $0.placeWaitSeconds = 0.5 }
        let (alice, bob) = (try users.store("alice"), try users.store("bob"))
        try SampleRecords.fill(alice)
        let entries = try alice.read { transaction in
            var seen = 0
            try transaction.enumerate(FetchDescriptor<Entry>()) { _ in
                seen += 1
                if seen == 10 {
                    let error = #expect(throws: HabitStoreError.self) { try bob.save(Habit(name: "Swim")) }
                    #expect(error?.code == .busy)
                    #expect(error?.message.contains("all 1 users") == true)
                }
                return true
            }
            return seen
        }
        #expect(entries == 20)
        try alice.write(author: nil) { transaction in
            try transaction.save(Habit(name: "Walk"))
            #expect(throws: HabitStoreError.self) { try bob.all(Habit.self) }
        }
        #expect(try users.openings(of: "alice") <= 2)
        try bob.save(Habit(name: "Swim"))
        #expect(try alice.all(Habit.self).count == 3)
    }

    @Test func aStreamGoesOnOverUsersWhoAreClosedBetweenItsBatches() async throws {
        let users = try PooledUsers(limit: 1)
        let (alice, bob) = (try users.store("alice"), try users.store("bob"))
        try SampleRecords.fill(alice)
        var ids: [UUID] = []
        for try await batch in alice.stream(FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date)]), batchSize: 3) {
            ids += batch.map(\.id)
            try await bob.save(Habit(name: "Swim"))
        }
        #expect(ids == (0..<20).map { SampleRecords.id(100 + $0) })
        #expect(try users.openings(of: "alice") >= 7)
    }

    @Test func aHandleThatIsClosedOrLetGoOfGivesItsPlaceBack() throws {
        let users = try PooledUsers(limit: 4)
        let kept = try users.store("kept")
        do { try users.store("let go of").save(Habit(name: "Run")) }
        #expect(users.stores.openUserCount == 1)
        let closed = try users.store("closed")
        #expect(users.stores.openUserCount == 2)
        closed.close()
        #expect(users.stores.openUserCount == 1)
        #expect(throws: HabitStoreError.self) { try closed.all(Habit.self) }
        #expect(users.stores.openUserCount == 1)
        #expect(try kept.all(Habit.self).isEmpty)
        #expect(users.stores.madeRoomCount == 0)
    }

    @Test func aClosedUserWhoseFileWasDamagedMeanwhileHoldsNoPlace() throws {
        let users = try PooledUsers(limit: 1)
        let (alice, bob) = (try users.store("alice"), try users.store("bob"))
        try bob.save(Habit(name: "Swim"))
        let path = try users.fixture.address(.sqlite, "alice").path
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try Data("no store".utf8).write(to: URL(fileURLWithPath: path + suffix))
        }
        let error = #expect(throws: HabitStoreError.self) { try alice.all(Habit.self) }
        #expect(error?.code == .notAStore)
        #expect(users.stores.openUserCount == 0)
        #expect(try bob.all(Habit.self).count == 1)
    }

    @Test func aUserWhoIsAlwaysClosedAgainIsTheSameHandle() throws {
        let users = try PooledUsers(limit: 1)
        let alice = try users.store("alice")
        _ = try users.store("bob")
        #expect(try users.store("alice") === alice)
        #expect(try users.openings(of: "alice") == 2)
    }

    /// The limit depends on the files that the two costliest engines open, which no test covered.
    @Test func theDefaultFitsIntoTheFilesThatThisProcessMayOpen() throws {
        let standard = RolloutOptions.defaultMaximumOpenUsers(.standard)
        #expect((1...256).contains(standard))
        let three = try Engines([InMemoryProvider(), SQLiteProvider(), LMDBProvider()])
        #expect(RolloutOptions.defaultMaximumOpenUsers(three) == standard)
        let cheaper = try Engines([InMemoryProvider(), SQLiteProvider()])
        #expect(RolloutOptions.defaultMaximumOpenUsers(cheaper) >= standard)
    }
}

extension UserStore {
    /// Keeps the handle alive up to the call.
    fileprivate func keepsAlive() {}
}
