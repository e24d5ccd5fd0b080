import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// The way back is rehearsed on copies.
struct RehearsalTests {
    /// The stores were copied in the order of their names. If SQLite was the old one and a write came in between, the mirror's copy was ahead of the
    /// serving store's, which no real mirror ever is, and the rehearsal failed.
    @Test(arguments: EngineName.standard)
    func itComesOutCleanWhileWritesGoOn(engine: EngineName) throws {
        let user = try StagedUser(old: engine)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        let isOver = Atomic<Bool>(false)
        let failure = Mutex<(any Error)?>(nil)
        let writer = Thread {
            do {
                while !isOver.load(ordering: .acquiring) { try store.save(Habit(name: "Run")) }
            } catch {
                failure.withLock { $0 = error }
            }
            isOver.store(false, ordering: .releasing)
        }
        writer.start()
        for _ in 0..<5 { #expect(try store.rehearse() == nil) }
        isOver.store(true, ordering: .releasing)
        while isOver.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
        #expect(failure.withLock { $0 } == nil)
    }

    /// After a failed rehearsal `advance` kept refusing, even when the cause was gone.
    @Test func anAdvanceByHandRepeatsAFailedRehearsal() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        try user.want("live")
        store.reloadFlags()
        let failed = EvidenceEvent.rehearsed(token: try store.currentToken(), isClean: false, message: "no space")
        try store.opened().record([failed])
        let fleet = try store.advance(to: .live, permit: {})
        #expect(fleet?.reasons.contains(.rehearsalFailed) == true)
        let decision = try store.advance(to: .live)
        #expect(decision?.isOpen == true, "\(decision.map { "\($0.reasons)" } ?? "nothing")")
        #expect(try store.stage() == .live)
    }

    /// A process killed during a rehearsal left copies of both stores in the user's folder forever.
    @Test func whatAKilledRehearsalLeftIsRemovedByTheNext() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .shadow)
        let folder = try user.directory.path
        let left = folder + "/rehearsal-left/users"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        #expect(try store.rehearse() == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(!names.contains { $0.hasPrefix("rehearsal-") })
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }
}
