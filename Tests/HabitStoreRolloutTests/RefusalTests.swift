import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// The gate records a refusal when its reasons change.
struct RefusalTests {
    /// Three open processes tried every five seconds and recorded each refusal: 24 MB a day for each user, until a kill took 20 s to read them.
    @Test func whatIsRefusedAgainForTheSameReasonsIsWrittenDownOnce() throws {
        let user = try StagedUser()
        try user.with { try user.bring($0, to: .dualwrite) }
        try user.want("live")
        func refusals() throws -> Int {
            try EvidenceLog(user.directory).read().records.count { if case .refused = $0.event { true } else { false } }
        }
        // Like short-lived commands, each with a separate memory.
        for number in 0..<6 {
            let store = try user.stores { $0.gate.cleanShadowReads = 1_000 }.store(for: "alice")
            if number > 0 { _ = try store.all(Habit.self) }
            #expect(try store.advance()?.isOpen == false)
            store.close()
        }
        #expect(try refusals() == 1)
        let store = try user.stores { $0.gate.cleanShadowReads = 1_000 }.store(for: "alice")
        defer { store.close() }
        #expect(try store.promote(to: .rampdown).isOpen == false)
        #expect(try refusals() == 2)
        #expect(try store.advance()?.isOpen == false)
        #expect(try refusals() == 3)
    }

    @Test func theFiguresOfAReasonMakeNoOtherRefusal() {
        let some = StageEvidence.Refusal(to: .live, [.tooFewShadowReads(have: 3, need: 1_000), .repairedSince])
        #expect(some == StageEvidence.Refusal(to: .live, [.repairedSince, .tooFewShadowReads(have: 9, need: 1_000)]))
        #expect(some != StageEvidence.Refusal(to: .live, [.repairedSince]))
        let elsewhere = [GateReason.tooFewShadowReads(have: 3, need: 1_000), .repairedSince]
        #expect(some != StageEvidence.Refusal(to: .complete, elsewhere))
    }
}
