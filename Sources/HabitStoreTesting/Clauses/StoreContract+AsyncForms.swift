import Dispatch
import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

/// `try await store.write { … }` without an author, like thirteen other operations without an async form, ran on a thread of the cooperative pool,
/// and
/// the existing async forms lost the task's cancellation and task-local values. Now each operation has an async form that runs on the store's own
/// thread, in the caller's task.
extension StoreContract {
    static let asyncFormClauses: [Clause] = [
        Clause("every async form runs on the store's thread, in the caller's task", async: formsLeaveThePool),
        Clause("the async forms of a store with a concrete type run on its threads", async: knownTypesLeaveThePool),
        Clause("after an async form the caller leaves the store's thread", async: callersComeBack),
        Clause("a closure that has begun sees that its task was cancelled", async: closuresSeeCancellation),
        Clause("an insertion's progress sees that its task was cancelled", async: progressSeesCancellation),
    ]

    private static func formsLeaveThePool(_ bench: ContractBench) async throws {
        let store = ThreadProbe(try bench.habits())
        try await inStoreThreads(store, store)
        try await anyInStoreThreads(store, store)
    }

    /// Runs each operation once and checks where it ran.
    private static func inStoreThreads(_ probe: ThreadProbe, _ store: some HabitStore) async throws {
        func expectVisit(_ name: String, _ operation: () async throws -> Void) async throws {
            try await ThreadProbe.$mark.withValue(7) { try await operation() }
            let visits = probe.takeVisits()
            try expectEqual(visits.count, 1, "the number of transactions of \(name)")
            try expect(visits.allSatisfy(\.isOwnThread), "\(name) ran on the store's thread")
            try expectEqual(visits.map(\.mark), [7], "the task-local value in \(name)")
        }
        let (tag, other) = (Tag(name: UUID().uuidString), Tag(name: UUID().uuidString))
        let descriptor = FetchDescriptor<Tag>()
        try await expectVisit("write") { try await store.write { try $0.insert(tag) } }
        try await expectVisit("write(author:)") { try await store.write(author: "a") { try $0.save(tag) } }
        try await expectVisit("save") { try await store.save(tag) }
        try await expectVisit("insert") { try await store.insert([other]) }
        try await expectVisit("read") { _ = try await store.read { try $0.all(Tag.self) } }
        try await expectVisit("model") { _ = try await store.model(Tag.self, id: tag.id) }
        try await expectVisit("all") { _ = try await store.all(Tag.self) }
        try await expectVisit("fetch") { _ = try await store.fetch(descriptor) }
        try await expectVisit("fetchCount") { _ = try await store.fetchCount(descriptor) }
        try await expectVisit("fetchIdentifiers") { _ = try await store.fetchIdentifiers(descriptor) }
        try await expectVisit("fetchPage") { _ = try await store.fetchPage(descriptor, size: 1) }
        try await expectVisit("project") { _ = try await store.project(descriptor, [\.name]) }
        try await expectVisit("explain") { _ = try await store.explain(descriptor) }
        try await expectVisit("fetchHistory") { _ = try await store.fetchHistory(after: .zero) }
        try await expectVisit("currentToken") { _ = try await store.currentToken() }
        try await expectVisit("information") { _ = try await store.information() }
        try await expectVisit("delete") { try await store.delete(tag) }
        let name = other.name
        try await expectVisit("delete(where:)") {
            try await store.delete(Tag.self, where: #Predicate { $0.name == name })
        }
        try await expectVisit("pruneHistory") { try await store.pruneHistory(through: .zero) }
        try await expectVisit("stream") { for try await _ in store.stream(descriptor) {} }
    }

    /// The same through `any HabitStore`.
    private static func anyInStoreThreads(_ probe: ThreadProbe, _ store: any HabitStore) async throws {
        let tag = Tag(name: "any")
        try await store.write { try $0.insert(tag) }
        try await store.write(author: "a") { try $0.save(tag) }
        _ = try await store.read { try $0.all(Tag.self) }
        _ = try await store.all(Tag.self)
        _ = try await store.project(FetchDescriptor<Tag>(), [\.name])
        try await store.insert([Tag(name: "other")])
        try await store.delete(tag)
        let visits = probe.takeVisits()
        try expectEqual(visits.count, 7, "the number of transactions")
        try expect(visits.allSatisfy(\.isOwnThread), "all of them ran on the store's threads")
    }

    /// Swift prefers the overload on the more specific type before it considers `await`.
    private static func knownTypesLeaveThePool(_ bench: ContractBench) async throws {
        func expectOwnThread(_ store: some EngineBackedStore) async throws {
            let places = try await ThreadProbe.$mark.withValue(3) {
                [
                    try await store.read { _ in ThreadProbe.here },
                    try await store.write { _ in ThreadProbe.here },
                    try await store.write(author: "a") { _ in ThreadProbe.here },
                ]
            }
            try expect(places.allSatisfy(\.isOwnThread), "the closures ran on the store's threads")
            try expectEqual(places.map(\.mark), [3, 3, 3], "the task-local values")
        }
        try await expectOwnThread(try bench.habits())
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        let places = [try await store.read { _ in ThreadProbe.here }, try await store.write { _ in ThreadProbe.here }]
        try expect(places.allSatisfy(\.isOwnThread), "the closures ran on the store's threads")
    }

    private static func callersComeBack(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        _ = try await store.all(Tag.self)
        try expect(!ThreadProbe.here.isOwnThread, "after a read the task is not on the store's thread")
        try await store.save(Tag(name: "x"))
        try expect(!ThreadProbe.here.isOwnThread, "after a write the task is not on the store's thread")
        do {
            try await store.write { _ in throw Abandoned() }
        } catch is Abandoned {}
        try expect(!ThreadProbe.here.isOwnThread, "after an error the task is not on the store's thread")
    }

    private static func closuresSeeCancellation(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let reading = begun { hasBegun, gate in
            Task {
                try await store.read { _ in
                    hasBegun.signal()
                    gate.wait()
                    return Task.isCancelled
                }
            }
        }
        let wasSeen = try await reading.cancelledOnceBegun()
        try expect(wasSeen, "the read's closure saw that its task was cancelled")
        let writing = begun { hasBegun, gate in
            Task {
                try await store.write { transaction in
                    try transaction.insert(Tag(name: "undone"))
                    hasBegun.signal()
                    gate.wait()
                    try Task.checkCancellation()
                }
            }
        }
        do {
            try await writing.cancelledOnceBegun()
            throw ContractViolation("the write's closure did not see that its task was cancelled")
        } catch is CancellationError {}
        try expectEqual(try await store.fetchCount(FetchDescriptor<Tag>()), 0, "the number of tags")
    }

    private static func progressSeesCancellation(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let inserting = begun { hasBegun, gate in
            Task {
                try await store.write { transaction in
                    hasBegun.signal()
                    gate.wait()
                    let habits = (0..<30_000).lazy.map { Habit(name: "\($0)") }
                    try transaction.insert(contentsOf: habits) { _ in try Task.checkCancellation() }
                }
            }
        }
        do {
            try await inserting.cancelledOnceBegun()
            throw ContractViolation("the insertion continued although its task was cancelled")
        } catch is CancellationError {}
        try expectEqual(try await store.fetchCount(FetchDescriptor<Habit>()), 0, "the number of habits")
    }

    private static func begun<R>(
        _ start: (_ hasBegun: DispatchSemaphore, _ gate: DispatchSemaphore) -> Task<R, any Error>
    ) -> BegunOperation<R> {
        let (hasBegun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        return BegunOperation(hasBegun: hasBegun, gate: gate, task: start(hasBegun, gate))
    }
}

/// An async operation that signals when its closure has begun, and waits there.
private struct BegunOperation<R: Sendable> {
    let hasBegun: DispatchSemaphore
    let gate: DispatchSemaphore
    let task: Task<R, any Error>

    /// Cancels the operation in its closure and returns its result.
    @discardableResult
    func cancelledOnceBegun() async throws -> R {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                hasBegun.wait()
                continuation.resume()
            }
        }
        task.cancel()
        gate.signal()
        return try await task.value
    }
}
