import Foundation
import HabitStore
import HabitTracker

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
    private static func onThread(_ body: @escaping @Sendable () -> Void) async throws {
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
