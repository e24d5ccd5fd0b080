import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A cancelled task leaves equal stores, and its caller knows the outcome.
@Suite(.timeLimit(.minutes(5)))
struct CancellationTests {
    private static let stages: [Stage] = [.dualwrite, .shadow, .live]
    private static let cancelled = HabitStoreError.Code(rawValue: "cancelled")

    /// Writes in a task and notes the outcome in the ledger.
    private func write(
        _ store: UserStore,
        _ ledger: Ledger,
        _ during: @escaping @Sendable () -> Void = {}
    ) -> Task<Void, Never> {
        Task.detached {
            let draft = Draft(content: "draft", creationDate: SampleRecords.referenceDate)
            do {
                try await store.write(author: "ledger") { transaction in
                    try transaction.insert(draft)
                    during()
                }
                ledger.note(draft.id, .acknowledged)
            } catch is CancellationError {
                // Cancelled before it began: the write has no effect, as `HabitStore` promises.
                ledger.note(draft.id, .absent(Self.cancelled))
            } catch let error as HabitStoreError {
                ledger.note(draft.id, error.code == .outcomeUnknown ? .unknown : .absent(error.code))
            } catch {
                Issue.record("a write failed without a type: \(error)")
            }
        }
    }

    @Test(arguments: stages)
    func aTaskThatIsCancelledBeforeItBeginsHasWrittenNothing(stage: Stage) async throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        let id = UUID()
        let task = Task.detached {
            while !Task.isCancelled { await Task.yield() }
            try await store.write(author: "late") { transaction in
                try transaction.insert(Draft(id: id, content: "late", creationDate: SampleRecords.referenceDate))
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        ledger.note(id, .absent(Self.cancelled))
        store.close()
        try user.expectRecovery(ledger)
    }

    @Test(arguments: stages)
    func aTaskThatIsCancelledWhileItWaitsForItsTurnHasWrittenNothing(stage: Stage) async throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        let (entered, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let first = write(store, ledger) {
            entered.signal()
            release.wait()
        }
        await Self.wait(for: entered)
        let waiting = (0..<5).map { _ in write(store, ledger) }
        try await Task.sleep(for: .milliseconds(20))
        for task in waiting { task.cancel() }
        // The write inside its transaction finishes all the same.
        first.cancel()
        release.signal()
        await first.value
        for task in waiting { await task.value }
        #expect(ledger.outcomes.filter { $0 == .acknowledged }.count == 1)
        #expect(ledger.outcomes.filter { $0 == .absent(Self.cancelled) }.count == 5)
        store.close()
        try user.expectRecovery(ledger)
    }

    /// The write is committed and the other store hangs: cancelling the task then changes nothing.
    @Test(arguments: stages, [Fault.Moment.beginning, .beforeCommit, .afterCommit])
    func aTaskThatIsCancelledWhileTheOtherStoreHangsIsFinished(stage: Stage, moment: Fault.Moment) async throws {
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        let store = try user.open { $0.mirror.waitSeconds = 10 }
        let ledger = Ledger()
        _ = store.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        let plan = try user.plan(stage.authority.other)
        plan.inject(Fault(.hang, on: [.replicate], at: moment, times: 1))
        let task = write(store, ledger)
        await Self.wait { plan.waitForStrikes(1, seconds: 300) }
        task.cancel()
        plan.heal()
        await task.value
        #expect(ledger.outcomes == [.acknowledged])
        store.close()
        try user.expectRecovery(ledger)
    }

    @Test(arguments: stages)
    func tasksThatAreCancelledAtAnyInstantLeaveEqualStores(stage: Stage) async throws {
        let seed = UInt64.random(in: 0...99_999)
        var generator = SeededGenerator(seed: seed)
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        let threads = ThreadPerJob()
        for _ in 0..<40 {
            let tasks = (0..<3).map { _ in write(store, ledger) }
            let reading = Task.detached(executorPreference: threads) {
                try await store.fetch(FetchDescriptor<Draft>()).count
            }
            let streaming = Task.detached(executorPreference: threads) {
                var count = 0
                for try await page in store.stream(FetchDescriptor<Draft>(), batchSize: 7) { count += page.count }
                return count
            }
            try await Task.sleep(for: .microseconds(Int.random(in: 0...6_000, using: &generator)))
            for task in tasks.shuffled(using: &generator) where Bool.random(using: &generator) { task.cancel() }
            reading.cancel()
            streaming.cancel()
            for task in tasks { await task.value }
            for task in [reading, streaming] {
                if case .failure(let error) = await task.result {
                    #expect(error is CancellationError, "seed \(seed): \(error)")
                }
            }
        }
        let cancelled = ledger.outcomes.filter { $0 == .absent(Self.cancelled) }.count
        let acknowledged = ledger.outcomes.filter { $0 == .acknowledged }.count
        print("cancellation at \(stage.rawValue), seed \(seed): \(acknowledged) acknowledged, \(cancelled) cancelled")
        #expect(cancelled + acknowledged == 120, "seed \(seed): \(ledger.outcomes)")
        #expect(cancelled > 0 && acknowledged > 0, "seed \(seed)")
        store.close()
        try user.expectRecovery(ledger)
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await wait { semaphore.wait(timeout: .now() + 300) == .success }
    }

    /// Waits on a separate thread, so that the cooperative pool is not blocked.
    private static func wait(_ condition: @escaping @Sendable () -> Bool) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                #expect(condition())
                continuation.resume()
            }
        }
    }
}
