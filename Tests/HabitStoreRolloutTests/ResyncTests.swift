import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RawStoreFiles
import RolloutTesting
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// `resync` copies a differing store again from the serving one. Before, an operator had to move files by hand, at three in the morning.
@Suite(.timeLimit(.minutes(5)))
struct ResyncTests {
    private func user(at stage: Stage, old: EngineName) throws -> (StagedUser, UserStore) {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        try SampleRecords.fill(store)
        try user.bring(store, to: stage)
        return (user, store)
    }

    private func loseARecord(_ user: StagedUser, _ side: StoreSide) throws {
        let store = try user.engines.open(try user.address(side), .readWrite, schema: HabitSchema.current)
        defer { store.close() }
        try store.loseARecord()
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live, .rampdown, .complete], EngineName.standard)
    func theOtherStoreIsCopiedAnewAndVerified(stage: Stage, old: EngineName) throws {
        let (user, store) = try user(at: stage, old: old)
        defer { store.close() }
        let bad = try user.address(stage.authority.other)
        store.close()
        try loseARecord(user, stage.authority.other)
        let again = try user.stores().store(for: "alice")
        defer { again.close() }
        let isCompared = stage != .complete
        if isCompared { #expect(try again.verify().verdict == .mismatch) }
        let outcome = try again.resync(by: "a test", because: "it lacks a record")
        #expect(outcome.report.verdict == .match && outcome.engine == bad.engine)
        let aside = try #require(outcome.aside)
        #expect(aside.hasPrefix(bad.path) && FileManager.default.fileExists(atPath: aside))
        #expect(try again.verify().verdict == .match)
        let status = try user.stores().status(of: "alice")
        #expect(status.evidence.openDifference == nil && status.stage == stage)
        #expect(status.evidence.lastVerification?.isClean == true)
        let events = try user.stores().evidence(of: "alice").read().records.map(\.event)
        #expect(
            events.contains {
                if case .resynced(bad.engine, _, _, "a test", "it lacks a record") = $0 { true } else { false }
            }
        )
        // Writes go to both stores again, and the next moves use the new copy.
        try again.save(Habit(name: "Late"))
        let names = try again.all(Habit.self).map(\.name).sorted()
        try again.demote(to: .off)
        #expect(try again.all(Habit.self).map(\.name).sorted() == names)
        try again.advance(to: .shadow)
        #expect(try again.verify().verdict == .match)
    }

    /// The serving store is the bad one: nothing is copied from it, and the good one stays.
    @Test func aDamagedStoreIsNotCopied() throws {
        let (user, store) = try user(at: .shadow, old: .sqlite)
        store.close()
        try RawDatabase(path: user.address(.old).path).execute("UPDATE Habit SET name = name || '!'")
        let again = try user.stores().store(for: "alice")
        defer { again.close() }
        let error = #expect(throws: HabitStoreError.self) { try again.resync(by: "a test", because: "a mistake") }
        #expect(error?.code == .corrupt)
        #expect(try user.withStore(.new) { try $0.all(Habit.self).map(\.name).sorted() } == ["Read", "Run"])
        let events = try user.stores().evidence(of: "alice").read().records.map(\.event)
        #expect(!events.contains { if case .resynced = $0 { true } else { false } })
    }

    @Test(arguments: EngineName.standard)
    func whoHasOneStoreHasNothingToCopyAnew(old: EngineName) throws {
        let (_, store) = try user(at: .off, old: old)
        defer { store.close() }
        let error = #expect(throws: HabitStoreError.self) { try store.resync(by: "a test", because: "a mistake") }
        #expect(error?.code == .notFound)
    }
}
