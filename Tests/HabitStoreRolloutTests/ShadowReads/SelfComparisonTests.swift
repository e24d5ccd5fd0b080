import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// A store must equal itself; otherwise no comparison is trusted.
struct SelfComparisonTests {
    private func compared(_ store: UserStore) throws -> [StoreSide: Bool] {
        var found: [StoreSide: Bool] = [:]
        for record in try store.files.context.evidence.log.read().records {
            if case .selfCompared(let side, _, let isClean) = record.event { found[side] = isClean }
        }
        return found
    }

    private func leftovers(_ user: StagedUser) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: try user.directory.path)
            .filter { $0.hasPrefix("self-comparison-") }
    }

    @Test(arguments: EngineName.standard)
    func aVerificationBeforeLiveComparesEachStoreWithItself(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        #expect(try compared(store) == [:])
        try store.verify()
        #expect(try compared(store) == [.old: true, .new: true])
        #expect(try leftovers(user) == [])
    }

    /// An engine without files kept the copies of the last self-comparison and rehearsal: the next one was refused because a store already existed,
    /// and a user could not go back in a second rollout.
    @Test func anEngineWithoutFilesKeepsNoCopies() throws {
        let memory = InMemoryProvider()
        let user = try StagedUser(old: .sqlite, new: .memory, engines: Engines([SQLiteProvider(), memory]))
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        for _ in 0..<2 {
            #expect(try store.verify().verdict == .match)
            #expect(try store.rehearse() == nil)
            #expect(memory.identity(at: try user.directory.path + "/self-comparison-copies/copy.memory") == nil)
        }
    }

    @Test func itIsCleanWhileWritesGoOn() throws {
        let user = try StagedUser()
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
        for _ in 0..<3 {
            _ = try store.verify()
            #expect(try compared(store) == [.old: true, .new: true])
        }
        isOver.store(true, ordering: .releasing)
        while isOver.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
        #expect(failure.withLock { $0 } == nil)
    }

    /// A comparison that reports false differences says nothing about two stores either.
    @Test func aStoreThatDiffersFromItselfKeepsTheGateClosed() throws {
        let user = try StagedUser(at: .shadow) { try $0.save(Habit(name: "Run")) }
        try user.want("live")
        let store = try user.stores { options in
            options.opener = { address, access, schema in
                let store = try address.open(access, schema: schema)
                // The copy of LMDB's copy.
                return address.path.hasSuffix("second.lmdb") ? LyingStore(store, .miscounted) : store
            }
        }.store(for: "alice")
        defer { store.close() }
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        let decision = try store.advance()
        #expect(decision?.reasons == [.selfComparisonFailed(side: .new)])
        #expect(try compared(store) == [.old: true, .new: false])
        #expect(try store.stage() == .shadow)
        #expect(try leftovers(user) == [])
    }

    @Test func whatAKilledComparisonLeftIsRemovedByTheNext() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .shadow)
        let left = try user.directory.path + "/self-comparison-left"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        try Data("a copy".utf8).write(to: URL(fileURLWithPath: left + "/sqlite-1"))
        try store.verify()
        #expect(try leftovers(user) == [])
    }

    @Test func thePolicyCanDoWithout() throws {
        let user = try StagedUser()
        let store = try user.stores { $0.gate.requiresSelfComparison = false }.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .live)
        #expect(try compared(store) == [:])
    }
}
