import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// A difference was found while the log could not be written: it left no trace, and once the process had ended the gate to `live` opened. Evidence
/// that cannot be recorded does not count, but a difference closes the gate all the same.
struct OwedEvidenceTests {
    /// Brings a user to `shadow` with everything that the gate to `live` asks for.
    private func proven() throws -> StagedUser {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        store.drainShadowReads(seconds: 60)
        try store.verify()
        #expect(try store.rehearse() == nil)
        try user.want("live")
        store.files.context.flags.provider.reload()
        #expect(try store.decision().isOpen)
        return user
    }

    /// Replaces the log with a folder, to which not even the superuser can append.
    private func obstruct(_ user: StagedUser) throws -> () throws -> Void {
        let path = try EvidenceLog(user.directory).path
        try FileManager.default.moveItem(atPath: path, toPath: path + ".kept")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".kept", toPath: path)
        }
    }

    /// A kill landed during a verification, whose match was recorded all the same: no store took note of the line, and from then on the doctor
    /// suspected that someone had added it.
    @Test func aProofThatAKillOvertookIsNotWrittenDown() throws {
        let user = try proven()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try user.want("shadow", kill: true)
        let killer = try user.stores()
        var isKilled = false
        let report = try store.verify { _, _, _ in
            guard !isKilled else { return }
            isKilled = (try? killer.applyKill("alice").isKilled) == true
        }
        #expect(isKilled && report.verdict == .match)
        let events = try EvidenceLog(user.directory).read().records.map(\.event)
        let kill = try #require(events.firstIndex { if case .killed = $0 { true } else { false } })
        #expect(events[kill...].allSatisfy { !$0.speaksForTheUser }, "\(events[kill...])")
        #expect(try killer.examine("alice").isEmpty)
    }

    /// If the user's folder had been restored, a kill waited up to 30 s for another process's lock of the evidence in order to record that first.
    @Test func aKillDoesNotWaitToSayThatTheFolderWasPutBack() throws {
        let user = try proven()
        try FileManager.default.removeItem(atPath: user.directory.path + "/control")
        try user.want("live", kill: true)
        let log = try EvidenceLog(user.directory)
        let held = try EvidenceFile(log.path, .append)
        let start = ContinuousClock.now
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(store.owesEvidence)
        #expect(try held.size() > 0)
        release(held)
        #expect(try store.opened().record([]))
        let kinds = try log.read().records.map(\.event)
        #expect(kinds.contains { if case .putBack = $0 { true } else { false } })
        #expect(kinds.contains { if case .killed = $0 { true } else { false } })
    }

    /// Ends the lock.
    private func release(_ file: consuming EvidenceFile) {}

    @Test func aDifferenceThatCouldNotBeWrittenClosesTheGateForTheNextProcess() throws {
        let user = try proven()
        try user.with { store in
            let free = try obstruct(user)
            try store.opened().recordDifference(
                .difference(stage: .shadow, token: .zero, message: "they differ", epoch: nil)
            )
            #expect(store.owesEvidence)
            try free()
            // The process ends before anything is written.
            store.files.context.evidence.unwritten.withLock { $0 = [] }
        }
        let stores = try user.stores()
        #expect(try stores.status(of: "alice").next?.reasons.contains(.evidenceUnwritable) == true)
        #expect(try stores.examine("alice").contains { $0.kind == .differenceOwed && $0.canBeMended })
        let store = try stores.store(for: "alice")
        defer { store.close() }
        let decision = try store.promote()
        #expect(!decision.isOpen)
        #expect(decision.reasons.contains(.shadowDifferences(count: 1)))
        #expect(try store.stage() == .shadow)
        // Once the difference is in the evidence, a clean verification and new reads open the gate, as for any difference.
        #expect(!store.owesEvidence)
        try store.verify()
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        store.drainShadowReads(seconds: 60)
        #expect(try store.promote().isOpen)
    }

    /// With a folder in the place of `evidence.jsonl`, the status of a killed user said that nothing was in the way; `rollout advance` then ended
    /// with an error. The kill and the evidence are the reasons, and the doctor names the command that helps.
    @Test func evidenceThatCannotBeReadIsInTheWayAsIsAKill() throws {
        let user = try proven()
        _ = try obstruct(user)
        let path = try EvidenceLog(user.directory).path
        let before = try user.stores().status(of: "alice")
        #expect(before.next == nil)
        let reason = try #require(before.whyNotThere(user: "alice"))
        #expect(reason.contains("evidence: ") && reason.contains("rollout doctor --user alice"), "\(reason)")
        #expect(!reason.contains("nothing is in the way"))

        try user.want("live", kill: true)
        #expect(try user.stores().applyKill("alice").isKilled)
        try user.want("live")
        let status = try user.stores().status(of: "alice")
        #expect(status.isKilled && status.reasonsNotThere == [.killed])
        let killed = try #require(status.whyNotThere(user: "alice"))
        #expect(killed.contains("rollout rearm") && killed.contains("evidence: "), "\(killed)")

        let found = try #require(try user.stores().examine("alice").first { $0.message.contains("the evidence") })
        #expect(found.remedy.contains("`mv \(path) \(path).aside`"), "\(found.remedy)")
        #expect(found.remedy.contains("rollout evidence reset --user U --because TEXT"), "\(found.remedy)")
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.resetEvidence(because: "a folder was there", by: "a test").file != nil)
        #expect(try user.stores().status(of: "alice").problems.isEmpty)
    }

    @Test func aPromotionIsRefusedWhereItsLineCannotBeWritten() throws {
        let user = try proven()
        let store = try user.stores { $0.lockWaitSeconds = 0.3 }.store(for: "alice")
        defer { store.close() }
        // The log can be read, but not appended to.
        let lock = try EvidenceFile(try EvidenceLog(user.directory).path, .read)
        let decision = try store.promote()
        #expect(decision.reasons == [.evidenceUnwritable])
        #expect(try store.stage() == .shadow)
        withExtendedLifetime(lock) {}
    }

    @Test func aKillDoesNotWaitForTheLogAndPaysItsLinesLater() throws {
        let user = try proven()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.promote().isOpen)
        let free = try obstruct(user)
        try user.want("live", kill: true)
        store.files.context.flags.provider.reload()
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
        #expect(store.notes.contains { $0.contains("lines of the kill are owed") })
        try free()
        try store.opened().record([])
        let kinds = try store.files.context.evidence.log.read().records.suffix(2).map(\.event)
        guard case .killed = kinds.first, case .stageChanged(.live, .off, _, _, .killed, _, _) = kinds.last else {
            Issue.record("the last lines are \(kinds)")
            return
        }
    }

    /// A process that keeps the log locked without making progress must not delay a kill.
    @Test func aKillDoesNotWaitForAFrozenWriterOfTheLog() throws {
        let user = try proven()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.promote().isOpen)
        let lock = try EvidenceFile(try EvidenceLog(user.directory).path, .append)
        try user.want("live", kill: true)
        store.files.context.flags.provider.reload()
        let begin = ContinuousClock.now
        #expect(try store.applyKill())
        #expect(ContinuousClock.now - begin < .seconds(EvidenceLog.lockWaitSeconds / 2))
        withExtendedLifetime(lock) {}
        #expect(try store.stage() == .off)
    }
}
