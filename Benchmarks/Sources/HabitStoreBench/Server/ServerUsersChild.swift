import Foundation
import HabitStore
import HabitStorePostgres
import HabitStoreRollout
import HabitStoreSQLite
import Logging
import Synchronization

/// The process that opens a number of users on a server and measures itself.
struct ServerUsersChild {
    static let argument = "server-users-child"
    /// The number of threads that open users and write.
    static let threads = 8

    /// How users' stores are opened: directly, or through a rollout.
    enum Way: String, CaseIterable {
        case stores, users
    }

    private struct State {
        var handles: [any HabitStore] = []
        var milliseconds: [Double] = []
        var mostFiles = 0
        var failure: (any Error)?
    }

    static func run(_ arguments: [String]) {
        do {
            guard arguments.count == 7, let way = Way(rawValue: arguments[2]), let count = Int(arguments[6]) else {
                throw BenchError("\(argument) takes a way, a folder, a server, a prefix and a number of users")
            }
            let open =
                switch way {
                case .stores: try stores(arguments[4])
                case .users: try users(arguments[4], folder: arguments[3])
                }
            print(try row(count) { try open("\(arguments[5])-\($0)") })
        } catch {
            ChildProcess.fail(error)
        }
    }

    private static func stores(_ server: String) throws -> @Sendable (String) throws -> any HabitStore {
        { try PostgresHabitStore(PostgresPlace(server: server, name: $0), schema: PlainEntry.schema) }
    }

    /// Users at `off`, with the server as their old engine.
    private static func users(
        _ server: String,
        folder: String
    ) throws -> @Sendable (String) throws -> any HabitStore {
        var options = RolloutOptions()
        (options.followsFlags, options.advancesByItself) = (false, false)
        options.logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        let stores = try UserStores(
            root: folder,
            flags: nil,
            engines: Engines([PostgresProvider(server: server), SQLiteProvider()]),
            schema: PlainEntry.schema,
            options: options
        )
        return { try stores.store(for: $0) }
    }

    private static func row(_ count: Int, _ open: @escaping @Sendable (Int) throws -> any HabitStore) throws -> String {
        let state = Mutex(State())
        let before = ProcessFigures()
        let done = DispatchGroup()
        for thread in 0..<threads {
            done.enter()
            Thread.detachNewThread {
                defer { done.leave() }
                for number in stride(from: thread, to: count, by: threads) {
                    do {
                        let start = ContinuousClock.now
                        let store = try open(number)
                        try store.write(author: "bench") { try $0.insert(PlainHabit(id: UUID(), name: "Run")) }
                        let time = (ContinuousClock.now - start) / .milliseconds(1)
                        let files = number % 100 == 0 ? ProcessFigures().files : 0
                        state.withLock { state in
                            state.handles.append(store)
                            state.milliseconds.append(time)
                            state.mostFiles = max(state.mostFiles, files)
                        }
                    } catch {
                        return state.withLock { $0.failure = error }
                    }
                }
            }
        }
        done.wait()
        let after = ProcessFigures()
        let found = state.withLock { $0 }
        if let failure = found.failure { throw failure }
        guard found.handles.count == count else { throw BenchError("users are missing") }
        let each = (after.ownBytes - before.ownBytes) / Double(count) / 1_024
        let times = [50, 99].map { LiveRun.text(LiveRun.percentile($0, found.milliseconds), 2) }
        let files = [before.files, max(found.mostFiles, after.files)].map(String.init)
        return (times + files + [LiveRun.text(after.ownBytes / 1_048_576, 0), LiveRun.text(each, 1)])
            .joined(separator: " | ")
    }
}
