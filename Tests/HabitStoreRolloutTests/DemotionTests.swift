import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A user can always go back.
struct DemotionTests {
    /// At `complete` nothing kept the history that the copy into the old store still had to read: if an app pruned its history, the way back failed
    /// for as long as the app wrote. A crash sweep found this.
    @Test(arguments: EngineName.standard)
    func theWayBackFromCompleteSucceedsWhileHistoryIsForgotten(engine: EngineName) throws {
        let user = try StagedUser(old: engine)
        let store = try user.stores { $0.mirror.copyChunk = 2 }.store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .complete)
        try store.save(Habit(name: "Read"))
        try store.pruneHistory(through: try store.currentToken())
        let isOver = Atomic<Bool>(false)
        let failure = Mutex<(any Error)?>(nil)
        let written = Atomic<Int>(0)
        let writer = Thread {
            do {
                while !isOver.load(ordering: .acquiring) {
                    try store.save(Habit(name: "Run"))
                    try store.pruneHistory(through: try store.currentToken())
                    written.add(1, ordering: .relaxed)
                }
            } catch {
                failure.withLock { $0 = error }
            }
            isOver.store(false, ordering: .releasing)
        }
        writer.start()
        while written.load(ordering: .relaxed) == 0, failure.withLock({ $0 == nil }) {
            Thread.sleep(forTimeInterval: 0.001)
        }
        let outcome = Result { try store.demote() }
        isOver.store(true, ordering: .releasing)
        while isOver.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
        try outcome.get()
        #expect(failure.withLock { $0 } == nil)
        #expect(try store.stage() == .rampdown)
        #expect(try store.verify().verdict == .match)
    }
}
