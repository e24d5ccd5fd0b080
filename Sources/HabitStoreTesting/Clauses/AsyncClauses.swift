import Dispatch
import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

extension StoreContract {
    static let asyncClauses: [Clause] = [
        Clause("the async forms do the same as the others", async: asyncFormsAgree),
        Clause("slow reads do not hold up other tasks", async: slowReadsLeaveTheExecutorFree),
        Clause("a task that was cancelled before its transaction began does nothing", async: cancelledTasksDoNothing),
        Clause("a stream returns every record once, despite concurrent writes", async: streams),
    ]

    private static func asyncFormsAgree(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let habit = Habit(name: "x", streak: 3)
        try await store.save(habit, author: "task")
        let descriptor = FetchDescriptor(predicate: #Predicate<Habit> { $0.streak == 3 })
        try expectEqual(try await store.fetch(descriptor), [habit], "the records")
        try expectEqual(try await store.fetchCount(descriptor), 1, "the count")
        let author = try await store.read { try $0.fetchHistory(after: .zero).first?.author }
        try expectEqual(author, "task", "the author")
        let names = try await store.read { moment in
            try moment.all(Habit.self).flatMap { habit in habit.entries.map { $0.note } + [habit.name] }
        }
        try expectEqual(names, ["x"], "the related records")
        do {
            try await store.write(author: nil) { transaction in
                try transaction.insert(Tag(name: "t"))
                throw Abandoned()
            }
            throw ContractViolation("the transaction's own error was not rethrown")
        } catch is Abandoned {}
        try expectEqual(try await store.fetchCount(FetchDescriptor<Tag>()), 0, "the number of tags")
        let wasThere = try await store.delete(habit)
        try expect(wasThere, "the record was deleted")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try await store.save(Tag(name: "\(number)")) } }
            try await group.waitForAll()
        }
        try expectEqual(try await store.fetchCount(FetchDescriptor<Tag>()), 50, "the number of tags")
    }

    /// Reads wait for a signal that only another task gives, and all of the tasks share one thread.
    private static func slowReadsLeaveTheExecutorFree(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let (gate, hasBegun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (reads, deadline) = (16, DispatchTime.now() + 60)
        let wereSignalled = try await withTaskExecutorPreference(SingleThread()) {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<reads {
                    group.addTask {
                        try await store.read { _ in
                            hasBegun.signal()
                            return gate.wait(timeout: deadline) == .success
                        }
                    }
                }
                group.addTask {
                    // This task gets the thread only if no waiting read holds it.
                    try await onThread { _ = hasBegun.wait(timeout: deadline) }
                    for _ in 0..<reads { gate.signal() }
                    return true
                }
                return try await group.allSatisfy { $0 }
            }
        }
        try expect(wereSignalled, "a task ran while reads were waiting")
    }

    private static func cancelledTasksDoNothing(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let (hasBegun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let first = Task {
            try await store.write(author: nil) { transaction in
                hasBegun.signal()
                gate.wait()
                try transaction.insert(Tag(name: "first"))
            }
        }
        try await onThread { hasBegun.wait() }
        // The second write waits for the first one and is cancelled meanwhile.
        let second = Task { try await store.save(Tag(name: "second")) }
        try await Task.sleep(for: .milliseconds(20))
        second.cancel()
        // The first one has begun, and finishes although it is cancelled.
        first.cancel()
        gate.signal()
        try await first.value
        do {
            try await second.value
            throw ContractViolation("a write whose task was cancelled before it began took effect")
        } catch is CancellationError {}
        let names = try await store.read { try $0.all(Tag.self).map(\.name) }
        try expectEqual(names, ["first"], "the tags")
    }

    private static func streams(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        let habits = (0..<57).map { Habit(name: "x", streak: $0 / 3) }
        try await store.write(author: nil) { try habits.forEach($0.insert) }
        let descriptor = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)], fetchLimit: 50, fetchOffset: 2)
        let expected = try await store.fetch(descriptor).map(\.id)
        var seen: [UUID] = []
        for try await batch in store.stream(descriptor, batchSize: 8) {
            seen += batch.map(\.id)
            try await store.save(Habit(name: "new", streak: -1))
        }
        try expectEqual(seen, expected, "the records of the stream")
        var batches = 0
        for try await _ in store.stream(FetchDescriptor<Draft>()) { batches += 1 }
        try expectEqual(batches, 0, "the number of batches without records")
        try await expectCancellation(store, descriptor)
    }

    /// A stream whose task was cancelled once ended as if it had given all records, so that an export looked complete.
    private static func expectCancellation(
        _ store: some HabitStore,
        _ descriptor: FetchDescriptor<Habit>
    ) async throws {
        let reading = Task {
            var seen = 0
            do {
                for try await batch in store.stream(descriptor, batchSize: 8) {
                    seen += batch.count
                    if seen == 16 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return "ended after \(seen)"
            } catch is CancellationError {
                return "cancelled after \(seen)"
            }
        }
        try expectEqual(try await reading.value, "cancelled after 16", "a stream whose task is cancelled")
        let whole = Task {
            var seen = 0
            for try await batch in store.stream(descriptor, batchSize: 25) {
                seen += batch.count
                if seen == 50 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return seen
        }
        try expectEqual(try await whole.value, 50, "a stream whose task is cancelled after the last record")
    }

    /// Waits on a thread outside the cooperative pool.
    fileprivate static func onThread(_ body: @escaping @Sendable () -> Void) async throws {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                body()
                continuation.resume()
            }
        }
    }
}

/// Runs tasks on one thread that no other task's work can delay.
private final class SingleThread: TaskExecutor {
    private let queue = DispatchQueue(label: "HabitStoreTesting.SingleThread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

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
        try await StoreContract.onThread { hasBegun.wait() }
        task.cancel()
        gate.signal()
        return try await task.value
    }
}

/// A store that records on which thread, and in which task, its transactions run.
final class ThreadProbe: HabitStore {
    /// Where a transaction ran.
    struct Visit: Sendable {
        /// Whether the thread was one of the store's own.
        let isOwnThread: Bool
        /// The value of the task-local ``ThreadProbe/mark``.
        let mark: Int?
    }

    /// Bound by the caller.
    @TaskLocal static var mark: Int?

    private let base: any HabitStore
    private let noted = Mutex<[Visit]>([])

    init(_ base: any HabitStore) { self.base = base }

    var schema: Schema { base.schema }
    var dispatcher: StoreDispatcher { base.dispatcher }

    /// The visits since the last call.
    func takeVisits() -> [Visit] {
        noted.withLock { noted in
            defer { noted = [] }
            return noted
        }
    }

    /// The current thread and mark.
    static var here: Visit { Visit(isOwnThread: StoreDispatcher.isOwnThread, mark: mark) }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read {
            noted.withLock { $0.append(Self.here) }
            return try body($0)
        }
    }

    @discardableResult
    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author) {
            noted.withLock { $0.append(Self.here) }
            return try body($0)
        }
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    @discardableResult
    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }
}

/// Runs each job of a test on a new thread. On the cooperative pool a job would begin only after all tests waiting there, which takes minutes on a
/// slow
/// machine and looks like an operation that hangs.
package final class ThreadPerJob: TaskExecutor {
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs `body` on a new thread and waits for it.
func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let result = Mutex<Result<Void, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let outcome = Result { try body() }
        result.withLock { $0 = outcome }
        done.signal()
    }
    done.wait()
    try require(result.withLock { $0 }, "the other thread's result").get()
}
