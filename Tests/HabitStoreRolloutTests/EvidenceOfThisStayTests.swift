import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// Only evidence from the current stay at a stage, of the current files, opens the gate.
struct EvidenceOfThisStayTests {
    private static let tooFew = GateReason.tooFewShadowReads(have: 0, need: 1_000)

    private func reads(_ stage: Stage = .shadow, epoch: Int?, clean: Int = 1_000) -> EvidenceEvent {
        .shadowReads(stage: stage, clean: clean, different: 0, skewed: 0, failed: 0, shed: 0, epoch: epoch)
    }

    /// Eleven processes had read a user at `shadow` without recording it yet when the user was taken back and returned to `shadow`. They recorded it
    /// then, and a gate that asks for 1,000 clean reads of this stay opened with none.
    @Test func readsOfAnEarlierStayDoNotCountHoweverLateTheyAreWrittenDown() throws {
        let stay = GateCase(.shadow).without("shadowReads")
        #expect(try stay.adding(reads(epoch: GateCase.epoch - 2)).reasons() == [Self.tooFew])
        #expect(try stay.adding(reads(epoch: nil)).reasons() == [Self.tooFew])
        #expect(try stay.adding(reads(epoch: GateCase.epoch)).reasons() == [])
        // An undone switch raises the epoch, but the user stayed.
        #expect(try stay.adding(reads(epoch: GateCase.epoch + 1)).reasons() == [])
    }

    @Test func readsWithoutAnEpochCountInAStayThatAnEarlierVersionBegan() throws {
        let stay = GateCase(.shadow, version: nil).without("shadowReads")
        #expect(try stay.adding(reads(epoch: nil)).reasons() == [])
        #expect(try stay.adding(reads(epoch: GateCase.epoch - 2)).reasons() == [Self.tooFew])
    }

    @Test(arguments: [nil, 1, GateCase.epoch])
    func aDifferenceOfWhateverEpochClosesTheGate(epoch: Int?) throws {
        let difference = EvidenceEvent.difference(stage: .shadow, token: .zero, message: "one more", epoch: epoch)
        #expect(try GateCase(.shadow).adding(difference).reasons() == [.shadowDifferences(count: 1), Self.tooFew])
    }

    /// A process was killed twice between a move and its line, so that two stays at one stage looked like one.
    @Test func whoIsAdmittedToTheStageOfTheLogHasLeftItInBetween() throws {
        let admitted = EvidenceEvent.admitted(to: .shadow, epoch: GateCase.epoch + 2)
        let reasons = try GateCase(.shadow).adding(admitted).adding(reads(epoch: GateCase.epoch)).reasons()
        #expect(reasons.prefix(2) == [.verificationMissing, Self.tooFew])
        #expect(try GateCase(.shadow).adding(.admitted(to: .live, epoch: GateCase.epoch)).reasons() == [])
    }

    @Test(arguments: [
        EvidenceEvent.putBack(what: "the sqlite store"),
        .adopted(engine: .sqlite, epoch: GateCase.epoch + 1, by: "root", because: "it is all there is"),
    ])
    func nothingThatWasProvenOfOtherFilesCounts(event: EvidenceEvent) throws {
        let reasons = try GateCase(.shadow).adding(event).reasons()
        #expect(
            reasons == [
                .verificationMissing, Self.tooFew, .selfComparisonMissing(side: .old),
                .selfComparisonMissing(side: .new), .rollbackNotRehearsed,
            ]
        )
    }

    @Test func whatWasBegunBeforeAnAdoptionDoesNotCountBehindIt() throws {
        let adopted = GateCase(.shadow)
            .adding(.adopted(engine: .sqlite, epoch: GateCase.epoch + 1, by: "root", because: "it is all there is"))
            .adding(GateCase.verified())
            .adding(reads(epoch: GateCase.epoch))
        #expect(try adopted.reasons().prefix(2) == [.verificationMissing, Self.tooFew])
    }

    /// Evidence dated a year ahead by a wrong clock counted as fresh for the whole year, because the age was compared without its sign.
    @Test func whatIsDatedInTheFutureDoesNotCount() throws {
        let ahead = -Gate.clockToleranceSeconds - 1
        let whole = GateCase(.shadow)
        #expect(
            try whole.without("shadowReads").adding(reads(epoch: GateCase.epoch), age: ahead).reasons()
                == [.evidenceExpired]
        )
        let clean = EvidenceEvent.rehearsed(token: .zero, isClean: true, message: nil)
        #expect(try whole.without("rehearsed").adding(clean, age: ahead).reasons() == [.rollbackNotRehearsed])
        let alone = EvidenceEvent.selfCompared(side: .old, token: .zero, isClean: true)
        #expect(try whole.adding(alone, age: ahead).reasons() == [.selfComparisonMissing(side: .old)])
        #expect(
            try whole.without("verified").adding(GateCase.verified(), age: ahead).reasons()
                == [.verificationStale(seconds: ahead)]
        )
    }
}
