import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// Users could only be opened synchronously: switching engines or migrating a store blocked a thread of the cooperative pool for as long as it took,
/// and with one such user for each processor every task stopped.
@Suite(.timeLimit(.minutes(5)))
struct AsyncOpeningTests {
    private final class Threads: Sendable {
        private let isOwn = Mutex<[Bool]>([])
        private let users = Mutex<Set<String>>([])

        var all: [Bool] { isOwn.withLock { $0 } }

        func note() { isOwn.withLock { $0.append(StoreDispatcher.isOwnThread) } }

        /// Whether this is the first call for the user.
        func isFirst(of user: String) -> Bool { users.withLock { $0.insert(user).inserted } }
    }

    /// Users with a habit on SQLite, whom the flags move to LMDB.
    private func toggled(_ users: [String]) throws -> UserStoresFixture {
        let fixture = try UserStoresFixture(.sqlite)
        for user in users { try fixture.with(user) { try $0.save(Habit(name: user)) } }
        try fixture.want(.lmdb)
        return fixture
    }

    @Test func aToggleRunsOnAThreadOfTheUsersOwn() async throws {
        let fixture = try toggled(["alice"])
        let threads = Threads()
        let store = try await fixture.stores().store(for: "alice") { _, _, _ in threads.note() }
        defer { store.close() }
        #expect(!threads.all.isEmpty && threads.all.allSatisfy { $0 })
        #expect(try store.engine() == .lmdb)
        #expect(try fixture.names(store) == ["alice"])
    }

    @Test func openingsThatTakeLongHoldUpNoTask() async throws {
        let users = (0..<ProcessInfo.processInfo.activeProcessorCount * 2).map { "user \($0)" }
        let fixture = try toggled(users)
        let stores = try fixture.stores()
        let (inside, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let threads = Threads()
        try await withThrowingTaskGroup(of: UserStore.self) { group in
            for user in users {
                group.addTask {
                    try await stores.store(for: user) { _, _, _ in
                        guard threads.isFirst(of: user) else { return }
                        inside.signal()
                        goesOn.wait()
                    }
                }
            }
            // With a blocked pool this task would never run: every opening waits for it.
            let released = Task.detached {
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async {
                        for _ in users { inside.wait() }
                        continuation.resume()
                    }
                }
                for _ in users { goesOn.signal() }
            }
            await released.value
            for try await store in group {
                #expect(try store.engine() == .lmdb)
                store.close()
            }
        }
    }

    @Test func aTaskThatWasCancelledBeforeOpensNothing() async throws {
        let fixture = try UserStoresFixture(.sqlite)
        let stores = try fixture.stores()
        let opening = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stores.store(for: "alice")
        }
        await #expect(throws: CancellationError.self) { try await opening.value }
        #expect(try stores.users().users.isEmpty)
    }
}
