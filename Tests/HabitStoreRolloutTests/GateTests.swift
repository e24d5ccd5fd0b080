import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreRollout

/// The gate is open if nothing is missing, and closed by each thing that is.
struct GateTests {
    private let gate = Gate()

    @Test(arguments: Stage.allCases, Stage.allCases)
    func withAllEvidenceAUserGoesOneStageForwardAndAnyNumberBack(from: Stage, to: Stage) throws {
        let decision = gate.decide(from: from, to: to, facts: try GateCase(from).facts(), now: GateCase.now)
        switch to.position - from.position {
        case ..<0, 1: #expect(decision.reasons == [])
        case 0: #expect(decision.reasons == [.alreadyThere])
        default: #expect(decision.reasons == [.stageSkipped(from: from, to: to)])
        }
        #expect(decision.isOpen == decision.reasons.isEmpty)
    }

    /// The requirements of each stage: nothing is known of the user but the stage.
    private static let bare: [(from: Stage, reasons: [GateReason])] = [
        (.off, []),
        (.dualwrite, [.notBackfilled, .lagging(transactions: 1)]),
        (
            .shadow,
            [
                .notBackfilled, .lagging(transactions: 1), .verificationMissing,
                .tooFewShadowReads(have: 0, need: 1_000), .selfComparisonMissing(side: .old),
                .selfComparisonMissing(side: .new), .rollbackNotRehearsed,
            ]
        ),
        (.live, [.lagging(transactions: 1), .verificationMissing, .tooFewShadowReads(have: 0, need: 1_000)]),
        (.rampdown, [.lagging(transactions: 1), .verificationMissing]),
    ]

    @Test(arguments: bare)
    func withoutEvidenceEverythingThatIsMissingIsNamed(from: Stage, reasons: [GateReason]) throws {
        let next = try #require(from.next)
        let nothing = EvidenceSummary(anchor: .start)
        var facts = GateInput(evidence: nothing, lag: 1, isBackfilled: false, isKilled: false)
        #expect(gate.decide(from: from, to: next, facts: facts, now: GateCase.now).reasons == reasons)
        facts.isKilled = true
        facts.evidence = EvidenceSummary(
            EvidenceChain(Array("no record\n".utf8)),
            anchor: EvidenceHead(sequence: 9, hash: EvidenceHead.start.hash)
        )
        let all = gate.decide(from: from, to: next, facts: facts, now: GateCase.now).reasons
        #expect(
            all == [.killed, .evidenceDamaged(line: 1, why: "it is not a record"), .anchorMissing] + reasons
        )
        for stage in Stage.allCases where stage < from {
            #expect(gate.decide(from: from, to: stage, facts: facts, now: GateCase.now).isOpen)
        }
    }

    @Test(arguments: [Stage.off, .dualwrite, .shadow, .live, .rampdown])
    func aPulledKillSwitchAndADamagedLogCloseEveryWayForward(from: Stage) throws {
        let whole = GateCase(from)
        #expect(try whole.reasons { $0.isKilled = true } == [.killed])
        let bytes = try EvidenceSample.bytes(whole.events)
        let chain = EvidenceChain(bytes)
        let elsewhere = EvidenceHead(sequence: 99, hash: "")
        #expect(
            try whole.reasons { $0.evidence = EvidenceSummary(chain, anchor: elsewhere) } == [.anchorMissing]
        )
        #expect(try whole.reasons { $0.evidence = EvidenceSummary(chain, anchor: chain.head) } == [])
        #expect(try whole.reasons { $0.evidence = EvidenceSummary(chain) } == [.anotherUsersEvidence])
        let damaged = EvidenceChain(bytes + Array("{}\n".utf8))
        let damage = try whole.reasons { $0.evidence = EvidenceSummary(damaged, anchor: .start) }
        #expect(damage == [.evidenceDamaged(line: whole.events.count + 1, why: "it is not a record")])
    }

    @Test func theMirrorHasToBeFilledAndCurrent() throws {
        for stage in [Stage.dualwrite, .shadow] {
            #expect(try GateCase(stage).reasons { $0.isBackfilled = false } == [.notBackfilled])
        }
        // Neither filling nor catching up repairs a diverged mirror, so only that is reported.
        for stage in [Stage.dualwrite, .shadow] {
            let reasons = try GateCase(stage).reasons { facts in
                (facts.isMirrorParted, facts.isBackfilled, facts.lag) = (true, false, 7)
            }
            #expect(reasons == [.mirrorParted])
            #expect(reasons.map(\.description).joined().contains("`habitstore rollout doctor --user U --fix`"))
        }
        for stage in [Stage.dualwrite, .shadow, .live, .rampdown] {
            #expect(try GateCase(stage).reasons { $0.lag = 7 } == [.lagging(transactions: 7)])
            var policy = GatePolicy()
            policy.maximumLag = 7
            #expect(try GateCase(stage).reasons(policy) { $0.lag = 7 } == [])
        }
    }

    @Test(arguments: [Stage.shadow, .live, .rampdown])
    func aVerificationHasToBeCleanFreshAndOfThisStage(stage: Stage) throws {
        let whole = GateCase(stage)
        #expect(try whole.without("verified").reasons() == [.verificationMissing])
        #expect(
            try whole.adding(GateCase.verified("skewed")).reasons()
                == [.verificationNotClean(verdict: "skewed", differences: 0)]
        )
        #expect(
            try whole.adding(GateCase.verified(coverage: 0.75)).reasons() == [.coverageIncomplete(coverage: 0.75)]
        )
        #expect(try whole.adding(GateCase.verified(epoch: 1)).reasons() == [])
        #expect(try whole.without("verified").adding(GateCase.verified(epoch: 1)).reasons() == [.verificationMissing])
        #expect(try whole.without("verified").adding(GateCase.verified(), age: 86_400).reasons() == [])
        let ahead = -Gate.clockToleranceSeconds
        #expect(try whole.without("verified").adding(GateCase.verified(), age: ahead).reasons() == [])
        for age in [86_401.0, ahead - 1, -86_401] {
            #expect(
                try whole.without("verified").adding(GateCase.verified(), age: age).reasons()
                    == [.verificationStale(seconds: age)]
            )
        }
    }

    @Test func aRepairBeginsEverythingAnew() throws {
        let repair = EvidenceEvent.repaired(token: .zero, records: 1)
        let repaired = GateCase(.shadow).adding(repair)
        #expect(try repaired.reasons() == [.repairedSince, .tooFewShadowReads(have: 0, need: 1_000)])
        #expect(try repaired.adding(GateCase.reads(.shadow)).reasons() == [.repairedSince])
        #expect(
            try repaired.adding(GateCase.verified()).reasons() == [.tooFewShadowReads(have: 0, need: 1_000)]
        )
        #expect(try repaired.adding(GateCase.verified()).adding(GateCase.reads(.shadow)).reasons() == [])
        #expect(try GateCase(.rampdown).adding(repair).reasons() == [.repairedSince])
    }

    @Test(arguments: [
        EvidenceEvent.difference(stage: .shadow, token: .zero, message: "one record more"),
        .shadowReads(stage: .shadow, clean: 5_000, different: 1, skewed: 0, failed: 0, shed: 0),
    ])
    func aDifferenceBeginsEverythingAnew(difference: EvidenceEvent) throws {
        let different = GateCase(.shadow).adding(difference)
        #expect(try different.reasons() == [.shadowDifferences(count: 1), .tooFewShadowReads(have: 0, need: 1_000)])
        #expect(try different.adding(GateCase.reads(.shadow)).reasons() == [.shadowDifferences(count: 1)])
        #expect(
            try different.adding(difference).adding(GateCase.reads(.shadow)).reasons()
                == [.shadowDifferences(count: 2)]
        )
        #expect(
            try different.adding(GateCase.verified()).reasons() == [.tooFewShadowReads(have: 0, need: 1_000)]
        )
        #expect(try different.adding(GateCase.verified()).adding(GateCase.reads(.shadow)).reasons() == [])
    }

    @Test func aVerificationThatFindsDifferencesBeginsTheCountAnew() throws {
        #expect(
            try GateCase(.shadow).adding(GateCase.verified("mismatch", differences: 2)).reasons() == [
                .verificationNotClean(verdict: "mismatch", differences: 2),
                .tooFewShadowReads(have: 0, need: 1_000),
            ]
        )
    }

    @Test(arguments: [Stage.shadow, .live])
    func shadowReadsAreCountedInThisStageOnly(stage: Stage) throws {
        let none = GateCase(stage).without("shadowReads")
        #expect(try none.reasons() == [.tooFewShadowReads(have: 0, need: 1_000)])
        let some = none.adding(GateCase.reads(stage, 600)).adding(GateCase.reads(stage, 399))
            .adding(GateCase.reads(stage == .live ? .shadow : .live, 1_000))
        #expect(try some.reasons() == [.tooFewShadowReads(have: 999, need: 1_000)])
        #expect(try some.adding(GateCase.reads(stage, 1)).reasons() == [])
        let skewed = EvidenceEvent.shadowReads(
            stage: stage,
            clean: 0,
            different: 0,
            skewed: 5,
            failed: 5,
            shed: 5,
            rerun: 5,
            timedOut: 5
        )
        #expect(try some.adding(skewed).reasons() == [.tooFewShadowReads(have: 999, need: 1_000)])
        let again = try GateCase(stage).adding(GateCase.entry(stage)).reasons()
        let alone = stage == .shadow ? StoreSide.allCases.map { GateReason.selfComparisonMissing(side: $0) } : []
        #expect(again == [.verificationMissing, .tooFewShadowReads(have: 0, need: 1_000)] + alone)
        let tooOld = none.adding(GateCase.reads(stage, 900), age: 604_801).adding(GateCase.reads(stage, 100))
        #expect(try tooOld.reasons() == [.evidenceExpired])
        #expect(try none.adding(GateCase.reads(stage, .max)).adding(GateCase.reads(stage, .max)).reasons() == [])
    }

    @Test func theBoundIsThreeByTheNumberOfCleanReads() throws {
        let none = GateCase(.shadow).without("shadowReads")
        for (reads, bound) in [(0, nil), (2, 1.0), (300, 0.01), (3_000, 0.001)] as [(Int, Double?)] {
            let facts = try none.adding(GateCase.reads(.shadow, reads)).facts()
            let decision = gate.decide(from: .shadow, to: .live, facts: facts, now: GateCase.now)
            #expect(decision.cleanShadowReads == reads)
            #expect(decision.upperBound == bound)
        }
    }

    @Test func theWayBackHasToBeRehearsedLately() throws {
        let none = GateCase(.shadow).without("rehearsed")
        let clean = EvidenceEvent.rehearsed(token: .zero, isClean: true, message: nil)
        let failed = EvidenceEvent.rehearsed(token: .zero, isClean: false, message: "no space")
        #expect(try none.reasons() == [.rollbackNotRehearsed])
        #expect(try none.adding(clean, age: 604_801).reasons() == [.rollbackNotRehearsed])
        #expect(try none.adding(clean).adding(failed).reasons() == [.rehearsalFailed])
        #expect(try none.adding(failed).adding(clean).reasons() == [])
    }

    @Test func eachStoreHasToAgreeWithItselfUnlessThePolicySaysOtherwise() throws {
        var lenient = GatePolicy()
        lenient.requiresSelfComparison = false
        func compared(_ side: StoreSide, _ isClean: Bool = true) -> EvidenceEvent {
            .selfCompared(side: side, token: .zero, isClean: isClean)
        }
        let none = GateCase(.shadow).without("selfCompared")
        #expect(try none.reasons(lenient) == [])
        #expect(try none.reasons() == [.selfComparisonMissing(side: .old), .selfComparisonMissing(side: .new)])
        let old = none.adding(compared(.old))
        #expect(try old.reasons() == [.selfComparisonMissing(side: .new)])
        let both = old.adding(compared(.new))
        #expect(try both.reasons() == [])
        #expect(try both.adding(compared(.old, false)).reasons() == [.selfComparisonFailed(side: .old)])
        #expect(try both.adding(compared(.old, false)).adding(compared(.old)).reasons() == [])
        let stale = old.adding(compared(.new), age: 604_801)
        #expect(try stale.reasons() == [.selfComparisonMissing(side: .new)])
        // The new store already serves, so this comparison no longer decides anything.
        #expect(try GateCase(.live).without("selfCompared").reasons() == [])
    }

    @Test func aRuleThatIgnoresSomethingKeepsTheOldStore() throws {
        let ignoring = GateCase.verified(ignoredRules: 2)
        #expect(try GateCase(.rampdown).adding(ignoring).reasons() == [.ignoredRules(count: 2)])
        #expect(try GateCase(.live).adding(ignoring).reasons() == [])
    }

    @Test func aVerificationThatIgnoredEverythingLetsAUserServeAndNotComplete() throws {
        let ignored = GateCase.verified("ignored", ignoredRules: 1)
        #expect(try GateCase(.shadow).adding(ignored).reasons() == [])
        #expect(try GateCase(.live).adding(ignored).reasons() == [])
        #expect(try GateCase(.rampdown).adding(ignored).reasons() == [.ignoredRules(count: 1)])
    }

    /// A verification that ignored differences without naming the rules proves nothing.
    @Test(arguments: [
        GateCase.verified("ignored"), GateCase.verified("ignored", differences: 1, ignoredRules: 1),
        GateCase.verified("error"), GateCase.verified("timedOut"), GateCase.verified("later"),
    ])
    func aVerificationThatProvesNothingKeepsTheGateClosed(event: EvidenceEvent) throws {
        guard case .verified(_, _, let verdict, _, let differences, _, _) = event else { return }
        for stage in [Stage.shadow, .live, .rampdown] {
            let reasons = try GateCase(stage).adding(event).reasons()
            #expect(reasons.first == .verificationNotClean(verdict: verdict, differences: differences))
        }
    }

    @Test func whatThisVersionDoesNotKnowCountsAsADifference() throws {
        var facts = try GateCase(.shadow).facts()
        let content = #""time":"2026-05-28T20:26:40.250Z","event":{"kind":"later"}}"# + "\n"
        let line = try EvidenceLine.make(content, after: facts.evidence.head)
        let bytes = try EvidenceSample.bytes(GateCase(.shadow).events) + line.bytes
        facts.evidence = EvidenceSummary(EvidenceChain(bytes), anchor: .start)
        #expect(
            gate.decide(from: .shadow, to: .live, facts: facts, now: GateCase.now).reasons
                == [.verificationMissing, .tooFewShadowReads(have: 0, need: 1_000)]
        )
    }

    @Test func evidenceThatEndsInAnotherStageSaysNothingOfThisOne() throws {
        let facts = try GateCase(.shadow).facts()
        #expect(
            gate.decide(from: .live, to: .rampdown, facts: facts, now: GateCase.now).reasons
                == [.verificationMissing, .tooFewShadowReads(have: 0, need: 1_000)]
        )
    }
}
