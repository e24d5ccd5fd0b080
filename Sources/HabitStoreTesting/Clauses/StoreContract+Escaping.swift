import Dispatch
import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A task that a closure had started used its transaction. On SQLite it then read through a connection that another caller had by that time: that
/// caller's valid read failed with "file is not a database", or the process died, and no later write ended. Now whatever a transaction hands out ends
/// with it and stays on its thread.
extension StoreContract {
    static let escapingClauses: [Clause] = [
        Clause("a transaction's objects are refused after its end") { bench in
            let store = try filled(bench)
            for carried in try carriedOut(of: store) {
                try carried.requireRefusal()
                try carried.requireStatistics()
                try onAnotherThread {
                    try carried.requireRefusal()
                    try carried.requireStatistics()
                }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 20, "the number of tags")
        },
        Clause("a throwing transaction's objects are refused after its end") { bench in
            let store = try filled(bench)
            var carried: [CarriedAway] = []
            do {
                try store.read {
                    carried.append(try CarriedAway($0))
                    throw Abandoned()
                }
            } catch is Abandoned {}
            do {
                try store.write {
                    carried.append(try CarriedAway($0))
                    throw Abandoned()
                }
            } catch is Abandoned {}
            try expectEqual(carried.count, 2, "the number of transactions")
            for carried in carried { try carried.requireRefusal() }
        },
        Clause("a transaction's objects are refused on another thread while it runs") { bench in
            let store = try filled(bench)
            try store.read { transaction in
                let carried = try CarriedAway(transaction)
                try onAnotherThread { try carried.requireRefusal() }
                try expectEqual(try transaction.fetchCount(FetchDescriptor<Tag>()), 20, "the number of tags")
            }
            try store.write { transaction in
                let carried = try CarriedAway(transaction)
                try onAnotherThread { try carried.requireRefusal() }
                try transaction.insert(Tag(name: "own"))
            }
            try store.replicaRead { replica in
                let carried = CarriedAway(replica)
                try onAnotherThread { try carried.requireRefusal() }
            }
            try store.replicate { replica in
                let carried = CarriedAway(replica)
                try onAnotherThread { try carried.requireRefusal() }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 21, "the number of tags")
        },
        Clause("a fetch that a transaction prepared cannot be used after its end") { bench in
            let store = try filled(bench)
            let descriptor = FetchDescriptor(predicate: #Predicate<Tag> { !$0.habits.isEmpty })
            let fetch = try store.read { try $0.prepare(descriptor) }
            guard fetch.condition != nil else { return }
            try expectError(.transactionEnded) { try store.read { try $0.count(fetch) } }
        },
        Clause(
            "objects kept past a transaction's end do not disturb other reads and writes",
            async: escapesDisturbNobody
        ),
    ]

    private static func filled(_ bench: ContractBench) throws -> any EngineBackedStore {
        let store = try bench.habits()
        try store.insert((0..<20).map { Tag(name: "\($0)") })
        return store
    }

    private static func carriedOut(of store: any EngineBackedStore) throws -> [CarriedAway] {
        [
            try store.read { try CarriedAway($0) },
            try store.write { try CarriedAway($0) },
            try store.replicaRead { CarriedAway($0) },
            try store.replicate { CarriedAway($0) },
        ]
    }

    /// Readers and a writer continue while other closures carry out everything that they can and use it from tasks.
    private static func escapesDisturbNobody(_ bench: ContractBench) async throws {
        try await withTaskExecutorPreference(ThreadPerJob()) { try await disturb(filled(bench), rounds: 1_000) }
    }

    private static func disturb(_ store: any EngineBackedStore, rounds: Int) async throws {
        let threads = ThreadPerJob()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<rounds {
                        let count = try await store.read { try $0.all(Tag.self).count { !$0.name.hasPrefix("new") } }
                        try expectEqual(count, 20, "the number of untouched tags")
                    }
                }
            }
            group.addTask {
                for number in 0..<rounds / 10 { try await store.save(Tag(name: "new \(number)")) }
            }
            group.addTask {
                for round in 0..<rounds {
                    let carried = try await store.read { transaction in
                        let carried = try CarriedAway(transaction)
                        return (carried, Task(executorPreference: threads) { try carried.requireRefusal() })
                    }
                    try carried.0.requireRefusal()
                    try await carried.1.value
                    guard round.isMultiple(of: 20) else { continue }
                    let written = try await store.write { transaction in
                        let carried = try CarriedAway(transaction)
                        return (carried, Task(executorPreference: threads) { try carried.requireRefusal() })
                    }
                    try written.0.requireRefusal()
                    try await written.1.value
                }
            }
            try await group.waitForAll()
        }
        try expectEqual(try await store.fetchCount(FetchDescriptor<Tag>()), 20 + rounds / 10, "the number of tags")
        try expectEqual(try store.check { _ in }, [], "a check's findings")
    }
}
