import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// A log that was deleted, truncated, changed or another user's blocked its user forever. After a reset, with everything verified again, the user can
/// reach `complete`.
struct EvidenceResetTests {
    enum Loss: CaseIterable {
        case deleted
        case truncated
        case changed
        case anothers
        case aFolder
    }

    private func spoil(_ user: StagedUser, _ loss: Loss) throws {
        let path = try EvidenceLog(user.directory).path
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        switch loss {
        case .deleted: return
        case .truncated: bytes.removeLast(bytes.count / 2)
        case .changed: bytes[100] ^= 1
        case .anothers: bytes = Data(try EvidenceSample.bytes(GateCase(.shadow).events + GateCase(.live).events))
        case .aFolder:
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            return
        }
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: [Stage.shadow, .live], Loss.allCases)
    func theWayLeadsToItsEndAgain(stage: Stage, loss: Loss) throws {
        let user = try StagedUser(at: stage) { try $0.save(Habit(name: "Run")) }
        try spoil(user, loss)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try user.want("complete")
        store.files.context.flags.provider.reload()
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        if loss != .aFolder {
            let closed = try store.advance()
            #expect(closed?.isOpen == false)
        }
        let reset = try store.resetEvidence(because: "a disk died", by: "root")
        #expect(reset.from == stage)
        #expect(reset.file == "evidence-reset-1.jsonl")
        #expect(try store.stage() == .off)
        try user.bring(store, to: .complete)
        #expect(try store.stage() == .complete)
        let records = try store.files.context.evidence.log.read().records
        guard case .reset("a disk died", "root", _, _, _, reset.file) = try #require(records.first).event else {
            Issue.record("the chain begins with \(records[0].event)")
            return
        }
        #expect(try store.files.context.evidence.log.verify(anchor: store.files.context.evidence.log.head()).isWhole)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test func evidenceThatIsWholeIsBegunAnewOnlyByForce() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try user.bring(store, to: .shadow)
        let error = #expect(throws: HabitStoreError.self) {
            try store.resetEvidence(because: "a whim", by: "root")
        }
        #expect(error?.code == .unsupported)
        #expect(try store.stage() == .shadow)
        let reset = try store.resetEvidence(because: "a whim", by: "root", isForced: true)
        #expect(reset == EvidenceReset(from: .shadow, file: "evidence-reset-1.jsonl"))
        #expect(try store.stage() == .off)
    }

    @Test func aUserAtCompleteIsBroughtBack() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try user.bring(store, to: .complete)
        try store.save(Habit(name: "Swim"))
        try user.want("off")
        try spoil(user, .changed)
        #expect(try store.resetEvidence(because: "a disk died", by: "root").from == .complete)
        #expect(try store.all(Habit.self).map(\.name) == ["Swim"])
        #expect(try store.stage() == .off)
    }

    /// Another process still knows the old chain, and records its latest reads.
    @Test func whatAnotherProcessStillKnowsDoesNotDamageTheNewChain() throws {
        let user = try StagedUser()
        let (one, two) = (try user.stores(), try user.stores())
        let store = try one.store(for: "alice")
        defer { store.close() }
        try user.bring(store, to: .shadow)
        let other = try two.store(for: "alice")
        defer { other.close() }
        let known = try #require(other.files.leases.load()).actual.state.evidence
        try spoil(user, .truncated)
        try store.resetEvidence(because: "a disk died", by: "root")
        try other.files.context.evidence.log.append([.killed(trigger: "flag")], at: Date(), anchor: known)
        #expect(try store.files.context.evidence.log.read().isIntact)
        #expect(try other.stage() == .off)
    }

    /// A folder got another user's log, and its stores had never been moved: all of the other user's evidence counted.
    @Test func anotherUsersLogProvesNothingOfAUserWhoWasNeverMoved() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try Data(EvidenceSample.bytes(GateCase(.shadow).events)).write(
            to: URL(fileURLWithPath: store.files.context.evidence.log.path)
        )
        try user.want("dualwrite")
        store.files.context.flags.provider.reload()
        #expect(try store.promote().reasons == [.anotherUsersEvidence])
        try store.resetEvidence(because: "it was bob's", by: "root")
        #expect(try store.promote().reasons == [])
    }
}
