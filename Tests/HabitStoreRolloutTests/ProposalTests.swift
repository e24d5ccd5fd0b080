import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// The flag proposes: no user is promoted past the stage that it wants, and a missing flag moves no user.
struct ProposalTests {
    /// A user promoted past the wanted stage was there only for a moment: the next operation took the user back, and the evidence had two moves that
    /// no flag wanted.
    @Test func aPromotionPastTheWantedStageIsRefused() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .dualwrite)
        #expect(try store.decision().reasons == [.notProposed(wanted: .dualwrite)])
        #expect(try store.promote().reasons == [.notProposed(wanted: .dualwrite)])
        #expect(try store.advance(to: .shadow)?.reasons == [.notProposed(wanted: .dualwrite)])
        #expect(try store.stage() == .dualwrite)
        try user.want("shadow")
        store.files.context.flags.provider.reload()
        #expect(try store.promote().isOpen)
        #expect(try store.stage() == .shadow)
    }

    @Test func flagsThatSayNothingProposeNothing() throws {
        let user = try StagedUser()
        try Data(#"{"flags": {}}"#.utf8).write(to: URL(fileURLWithPath: user.flags))
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.promote().reasons == [.notProposed(wanted: nil)])
        #expect(try store.advance() == nil)
        #expect(try store.stage() == .off)
    }

    @Test(arguments: [Stage.live, nil])
    func theReasonIsReadAsItWasWritten(wanted: Stage?) throws {
        let reason = GateReason.notProposed(wanted: wanted)
        let bytes = try JSONEncoder().encode(reason)
        #expect(try JSONDecoder().decode(GateReason.self, from: bytes) == reason)
        #expect(reason.description.contains("flag file"))
    }
}
