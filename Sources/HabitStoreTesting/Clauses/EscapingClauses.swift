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
            var carried: [EscapedTransaction] = []
            try expectAbandoned {
                try store.read {
                    carried.append(try EscapedTransaction($0))
                    throw Abandoned()
                }
            }
            try expectAbandoned {
                try store.write {
                    carried.append(try EscapedTransaction($0))
                    throw Abandoned()
                }
            }
            try expectEqual(carried.count, 2, "the number of transactions")
            for carried in carried { try carried.requireRefusal() }
        },
        Clause("a transaction's objects are refused on another thread while it runs") { bench in
            let store = try filled(bench)
            try store.read { transaction in
                let carried = try EscapedTransaction(transaction)
                try onAnotherThread { try carried.requireRefusal() }
                try expectEqual(try transaction.fetchCount(FetchDescriptor<Tag>()), 20, "the number of tags")
            }
            try store.write { transaction in
                let carried = try EscapedTransaction(transaction)
                try onAnotherThread { try carried.requireRefusal() }
                try transaction.insert(Tag(name: "own"))
            }
            try store.replicaRead { replica in
                let carried = EscapedTransaction(replica)
                try onAnotherThread { try carried.requireRefusal() }
            }
            try store.replicate { replica in
                let carried = EscapedTransaction(replica)
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

    private static func carriedOut(of store: any EngineBackedStore) throws -> [EscapedTransaction] {
        [
            try store.read { try EscapedTransaction($0) },
            try store.write { try EscapedTransaction($0) },
            try store.replicaRead { EscapedTransaction($0) },
            try store.replicate { EscapedTransaction($0) },
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
                        let carried = try EscapedTransaction(transaction)
                        return (carried, Task(executorPreference: threads) { try carried.requireRefusal() })
                    }
                    try carried.0.requireRefusal()
                    try await carried.1.value
                    guard round.isMultiple(of: 20) else { continue }
                    let written = try await store.write { transaction in
                        let carried = try EscapedTransaction(transaction)
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

/// The parts of a transaction that a closure kept past its end.
///
/// `@unchecked`: the test carries it to other threads, as an app may do by mistake.
final class EscapedTransaction: @unchecked Sendable {
    private let reading: (any ReadTransaction)?
    private let replica: (any ReplicaSnapshot)?
    private let cursor: (any AuditCursor)?
    private let fetch: PreparedFetch?

    /// Takes everything that a transaction hands out.
    init(_ transaction: any ReadTransaction) throws {
        reading = transaction
        replica = nil
        fetch = try transaction.prepare(FetchDescriptor<Tag>())
        let entity = try transaction.schema.position(of: Tag.self)
        cursor = try (transaction as? any AuditableTransaction)?.auditCursor(entity: entity, in: .all)
        _ = try cursor?.next()
    }

    /// Takes a replication's transaction.
    init(_ transaction: any ReplicaSnapshot) {
        replica = transaction
        (reading, cursor, fetch) = (nil, nil, nil)
    }

    /// Uses all of it.
    ///
    /// - Throws: ``ContractViolation`` if any use is not refused.
    func requireRefusal() throws {
        if let reading, let fetch { try requireRefusal(reading, fetch) }
        if let writing = reading as? any WriteTransaction { try requireRefusal(writing) }
        if let cursor { try expectError(.transactionEnded) { try cursor.next() } }
        if let replica { try requireRefusal(replica) }
        if let replica = replica as? any ReplicaTransaction { try requireRefusal(replica) }
    }

    /// An ended transaction's statistics can be read; reading them once ended the process without a message.
    func requireStatistics() throws {
        guard let reading else { return }
        try expect(reading.statistics.examined >= 0, "the statistics of an ended transaction are readable")
    }

    private func requireRefusal(_ transaction: any ReadTransaction, _ fetch: PreparedFetch) throws {
        try expectError(.transactionEnded) { try transaction.all(Tag.self) }
        try expectError(.transactionEnded) { try transaction.model(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try transaction.fetchCount(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try transaction.fetchIdentifiers(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try transaction.project(FetchDescriptor<Tag>(), [\.name]) }
        try expectError(.transactionEnded) { try transaction.explain(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try transaction.records(RecordQuery(entity: "Tag")) }
        try expectError(.transactionEnded) { try transaction.countRecords(RecordQuery(entity: "Tag")) }
        try expectError(.transactionEnded) { try transaction.enumerateRows(fetch) { _ in true } }
        try expectError(.transactionEnded) { try transaction.count(fetch) }
        try expectError(.transactionEnded) { try transaction.explain(fetch) }
        try expectError(.transactionEnded) { try transaction.currentToken() }
        try expectError(.transactionEnded) { try transaction.information() }
        try expectError(.transactionEnded) { try transaction.fetchHistory(after: .zero) }
        try expectEqual(transaction.expectedCount(fetch), nil, "the expected count")
        if let transaction = transaction as? any AuditableTransaction {
            try expectError(.transactionEnded) { try transaction.auditCursor(entity: 0, in: .all) }
            try expectError(.transactionEnded) { try transaction.keptDigests(entity: 0) }
        }
    }

    private func requireRefusal(_ transaction: any WriteTransaction) throws {
        try expectError(.transactionEnded) { try transaction.insert(Tag(name: "carried")) }
        try expectError(.transactionEnded) { try transaction.insert(contentsOf: [Tag(name: "carried")]) }
        try expectError(.transactionEnded) { try transaction.save(Tag(name: "carried")) }
        try expectError(.transactionEnded) { try transaction.delete(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try transaction.pruneHistory(through: .zero) }
    }

    private func requireRefusal(_ replica: any ReplicaSnapshot) throws {
        try expectError(.transactionEnded) { try replica.information() }
        try expectError(.transactionEnded) { try replica.count(entity: 0) }
        try expectError(.transactionEnded) { try replica.enumerate(entity: 0, after: nil) { _, _ in true } }
        try expectError(.transactionEnded) { try replica.record(entity: 0, id: UUID()) }
        try expectError(.transactionEnded) { try replica.enumerateHistory(after: .zero) { _ in true } }
        try expectError(.transactionEnded) { try replica.backfillState() }
        try expectError(.transactionEnded) { try replica.rolloutState() }
    }

    private func requireRefusal(_ replica: any ReplicaTransaction) throws {
        try expectError(.transactionEnded) { try replica.remove(entity: 0, id: UUID()) }
        try expectError(.transactionEnded) { try replica.adopt(lineage: UUID(), floor: .zero) }
        try expectError(.transactionEnded) { try replica.setRole(.authoritative, epoch: 0) }
        try expectError(.transactionEnded) { try replica.setBackfillState(nil) }
        try expectError(.transactionEnded) { try replica.setRolloutState(nil) }
        try expectError(.transactionEnded) { try replica.pruneHistory(through: .zero) }
    }
}

/// Ways in which a program asks a record for its relationships outside of the transaction that read it. Each is a programming error and has to end
/// the
/// process with a message that says so.
package enum EscapedRelationship: String, CaseIterable, Codable, Sendable {
    /// The record is returned from the closure.
    case returned
    /// A task that the closure starts continues after the closure has ended.
    case task
    /// A task that the closure starts runs while the closure does.
    case concurrentTask
    /// The closure passes the record to another thread while it runs.
    case thread
    /// The record is used after another transaction ran on the thread, inside the one still in progress.
    case nestedThenReturned

    /// The message of the trap.
    package static let sentence = "was read outside of a transaction"

    /// Makes the mistake.
    ///
    /// - Throws: an error of the store before the mistake is reached.
    package func make(in store: some HabitStore) async throws {
        let habit = Habit(name: "Run")
        try await store.write { transaction in
            try transaction.insert(habit)
            try transaction.insert(Entry(habitID: habit.id))
        }
        switch self {
        case .returned: _ = try store.firstEntry()?.habit
        case .task: _ = try await store.read { Self.habitLater(of: try $0.firstEntry()) }.value
        case .concurrentTask:
            try await store.read { transaction in
                let entry = try transaction.firstEntry()
                let done = DispatchSemaphore(value: 0)
                Task {
                    _ = entry?.habit
                    done.signal()
                }
                done.wait()
            }
        case .thread:
            try await store.read { transaction in
                let entry = try transaction.firstEntry()
                try onAnotherThread { _ = entry?.habit }
            }
        case .nestedThenReturned:
            let entry = try await store.read { transaction in
                _ = try store.firstEntry()
                // The relationships of this transaction's records can be read again.
                let entry = try transaction.firstEntry()
                guard entry?.habit == habit else { return Entry?.none }
                return entry
            }
            _ = entry?.habit
        }
    }

    private static func habitLater(of entry: Entry?) -> Task<Habit?, Never> {
        Task {
            do {
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                return nil
            }
            return entry?.habit
        }
    }
}

extension HabitStore {
    /// Reads in a transaction that ends with the call.
    fileprivate func firstEntry() throws -> Entry? { try read { try $0.firstEntry() } }
}

extension ReadTransaction {
    fileprivate func firstEntry() throws -> Entry? { try all(Entry.self).first }
}
