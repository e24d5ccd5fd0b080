import Foundation
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// The gate's sentences, JSON and policy files.
struct GateFormTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func policy(_ text: String) throws -> GatePolicy {
        try JSONDecoder().decode(GatePolicy.self, from: Data(text.utf8))
    }

    @Test func eventsAndReasonsAreFlatObjects() throws {
        #expect(
            try json(EvidenceSample.events[0])
                == #"{"epoch":3,"from":"shadow","kind":"stageChanged","reason":"promoted","to":"live","token":4711,"version":2}"#
        )
        #expect(try json(EvidenceSample.events[10]) == #"{"isClean":true,"kind":"rehearsed","token":17}"#)
        #expect(
            try json(GateReason.tooFewShadowReads(have: 3, need: 1_000))
                == #"{"have":3,"need":1000,"reason":"tooFewShadowReads"}"#
        )
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(GateReason.self, from: Data(#"{"reason":"fullMoon"}"#.utf8))
        }
    }

    @Test(arguments: EvidenceSample.reasons)
    func aReasonIsOneSentenceAndComesBackFromJSON(reason: GateReason) throws {
        #expect(try JSONDecoder().decode(GateReason.self, from: Data(json(reason).utf8)) == reason)
        #expect(!reason.description.contains("\n"))
        #expect(reason == .alreadyThere || reason == .evidenceExpired || reason.description.contains("`habitstore "))
    }

    @Test func figuresInSentencesAreForPeople() {
        #expect(GateReason.lagging(transactions: 1).description.contains("1 transaction behind"))
        #expect(GateReason.verificationStale(seconds: 90_000).description.contains("25.0 h old"))
        #expect(GateReason.verificationStale(seconds: -90_000).description.contains("25.0 h in the future"))
        #expect(GateReason.coverageIncomplete(coverage: 0.999999).description.contains("99.99 % of"))
    }

    @Test func aPolicyHasDefaultsAndComesBackFromJSON() throws {
        #expect(try policy("{}") == GatePolicy())
        var changed = GatePolicy()
        changed.cleanShadowReads = 50
        changed.maximumLag = 2
        changed.requiresSelfComparison = false
        changed.verificationLifetimeSeconds = 60
        #expect(try policy(json(changed)) == changed)
        #expect(
            try policy(
                #"{"cleanShadowReads":50,"maximumLag":2,"requiresSelfComparison":false,"verificationLifetimeSeconds":60}"#
            )
                == changed
        )
    }

    @Test(arguments: [#"{"cleanShadowRead":1}"#, #"{"cleanShadowReads":-1}"#, #"{"evidenceLifetimeSeconds":-0.5}"#])
    func aPolicyWithAMistakeIsRefused(text: String) {
        #expect(throws: DecodingError.self) { try policy(text) }
    }

    @Test func aPolicyHoldsIgnoreRules() throws {
        let rule = #"{"entity":"Entry","attribute":"note","expires":"2026-12-31","name":"n","reason":"r"}"#
        let read = try policy(#"{"ignoreRules":[\#(rule)]}"#)
        #expect(read.ignoreRules.rules.map(\.place) == ["Entry.note"])
        #expect(try policy(json(read)) == read)
        for mistake in [
            #"{"ignoreRules":[{"entity":"Entry","name":"n","reason":"r"}]}"#, #"{"ignoreRules":[\#(rule),\#(rule)]}"#,
            #"{"ignoreRules":"n"}"#,
        ] { #expect(throws: DecodingError.self, "\(mistake)") { try policy(mistake) } }
    }

    @Test func aDecisionComesBackFromJSON() throws {
        let decision = GateDecision(reasons: EvidenceSample.reasons, cleanShadowReads: 300)
        #expect(try JSONDecoder().decode(GateDecision.self, from: Data(json(decision).utf8)) == decision)
    }
}
