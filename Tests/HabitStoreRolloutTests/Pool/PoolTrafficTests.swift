import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreRollout

/// More users than may be open, in use from many threads and tasks at the same time.
@Suite(.timeLimit(.minutes(5)))
struct PoolTrafficTests {
    private static let users = 12

    @Test(arguments: [1, 3, 8])
    func whatThreadsAndTasksWroteIsThereHoweverManyUsersAreOpen(_ limit: Int) async throws {
        let users = try PooledUsers(limit: limit) { $0.advancesByItself = true }
        let handles = try (0..<Self.users).map { try users.store("user-\($0)") }
        let written = Tally()
        let threads = ThreadPerJob()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask(executorPreference: threads) {
                    for round in 0..<30 {
                        let user = (worker * 5 + round) % Self.users
                        try await Self.work(handles[user], worker, round)
                        if round % 3 != 2 { written.counts.withLock { $0[user, default: 0] += 1 } }
                        guard users.stores.openUserCount <= limit else { throw TooMany() }
                    }
                }
            }
            try await group.waitForAll()
        }
        let expected = written.counts.withLock { $0 }
        for (user, store) in handles.enumerated() {
            #expect(try Self.blockingCount(store) == expected[user, default: 0])
            #expect(try Self.token(store) == Int64(expected[user, default: 0]))
        }
        if limit < Self.users { #expect(users.stores.madeRoomCount > 0) }
        for store in handles { store.close() }
        #expect(users.stores.openUserCount == 0)
    }

    private struct TooMany: Error {}

    /// The number of writes to each user.
    private final class Tally: Sendable {
        let counts = Mutex<[Int: Int]>([:])
    }

    /// One use of each kind in turn: a blocking write, an async write, and a read of both forms.
    private static func work(_ store: UserStore, _ worker: Int, _ round: Int) async throws {
        let draft = Draft(
            id: SampleRecords.id(worker * 1_000 + round),
            content: "\(worker)",
            creationDate: SampleRecords.referenceDate
        )
        switch round % 3 {
        case 0: try Self.blockingSave(store, draft)
        case 1: try await store.save(draft)
        default:
            let before = try Self.blockingCount(store)
            var streamed = 0
            for try await batch in store.stream(FetchDescriptor<Draft>(), batchSize: 4) { streamed += batch.count }
            #expect(streamed >= before)
        }
    }

    private static func blockingSave(_ store: UserStore, _ draft: Draft) throws { try store.save(draft) }

    private static func token(_ store: UserStore) throws -> Int64 { try store.read { try $0.currentToken().rawValue } }

    private static func blockingCount(_ store: UserStore) throws -> Int { try store.all(Draft.self).count }
}
