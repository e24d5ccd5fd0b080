import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// A file of ignore rules is exact, or refused.
struct IgnoreRuleFileTests {
    private func load(_ text: String) throws -> IgnoreRules {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("rules-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: file)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
        return try IgnoreRules.load(path: file.path)
    }

    private static func rule(_ fields: String) -> String { #"{"rules": [{\#(fields)}]}"# }

    @Test func aRuleIsReadAndWrittenBack() throws {
        let rules = try load(
            Self.rule(
                #""name": "n", "reason": "r", "entity": "Entry", "attribute": "note", "kind": "attribute", "expires": "2026-12-31""#
            )
        )
        let rule = try #require(rules.rules.first)
        #expect(rule.kind == .attribute)
        #expect(rule.place == "Entry.note, attribute")
        // The whole day counts.
        #expect(rule.expires == (try Date("2027-01-01T00:00:00Z", strategy: .iso8601)))
        #expect(rule.expiryText == "2026-12-31")
        let again = try JSONDecoder().decode(IgnoreRules.self, from: JSONEncoder().encode(rules))
        #expect(again == rules)
    }

    @Test func anInstantIsAnExpiryToo() throws {
        let rules = try load(Self.rule(#""name": "n", "reason": "r", "query": "q", "expires": "2026-12-31T12:00:00Z""#))
        #expect(rules.rules.map(\.expires) == [try Date("2026-12-31T12:00:00Z", strategy: .iso8601)])
        let again = try JSONDecoder().decode(IgnoreRules.self, from: JSONEncoder().encode(rules))
        #expect(again == rules)
    }

    @Test(arguments: [
        (#""name": "n", "reason": "r", "entity": "Entry""#, "never expires"),
        (#""name": "n", "reason": "r", "entity": "Entry", "expires": "soon""#, "expires at no date"),
        (#""name": "n", "reason": "r", "entity": "Entry", "expires": "2026-02-30""#, "expires at no date"),
        (#""name": "n", "reason": "r", "entity": "Entry", "expires": "2026-12-31 "#, "expires at no date"),
        (#""name": "n", "reason": "r", "expires": "2026-12-31""#, "covers everything"),
        (#""name": "n", "reason": "r", "attribute": "note", "expires": "2026-12-31""#, "covers everything"),
        (#""name": "n", "reason": "r", "entity": " ", "expires": "2026-12-31""#, "empty text"),
        (#""name": "n", "reason": "", "entity": "Entry", "expires": "2026-12-31""#, "empty text"),
        (#""name": "n", "entity": "Entry", "expires": "2026-12-31""#, "reason"),
        (#""reason": "r", "entity": "Entry", "expires": "2026-12-31""#, "name"),
        (#""name": "n", "reason": "r", "entity": "Entry", "kind": "any", "expires": "2026-12-31""#, "no kind"),
        (#""name": "n", "reason": "r", "entity": "Entry", "until": "2026-12-31""#, "no field \"until\""),
    ])
    func aRuleWithAMistakeIsRefused(fields: String, reason: String) {
        // One of them lacks the quote that ends its date.
        let text = Self.rule(fields.hasSuffix(" ") ? fields + "\"" : fields)
        let error = #expect(throws: HabitStoreError.self) { _ = try load(text) }
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\n") == false)
    }

    @Test func twoRulesOfOneNameAreRefused() {
        let one = #"{"name": "n", "reason": "r", "entity": "Entry", "expires": "2026-12-31"}"#
        let error = #expect(throws: HabitStoreError.self) { _ = try load(#"{"rules": [\#(one), \#(one)]}"#) }
        #expect(error?.message.contains("two ignore rules are named \"n\"") == true)
    }

    @Test func moreRulesThanAnybodyReadsAreRefused() throws {
        let rules = try (0...IgnoreRules.maximum).map { try IgnoreRuleTests.rule("rule \($0)") }
        let error = #expect(throws: HabitStoreError.self) { _ = try IgnoreRules(rules) }
        #expect(error?.code == .limitExceeded)
    }

    @Test(arguments: ["[]", "{}", #"{"rules": [], "rule": []}"#, #"{"rules": {}}"#, "{", ""])
    func whatIsNoFileOfRulesIsRefused(text: String) {
        let error = #expect(throws: HabitStoreError.self) { _ = try load(text) }
        #expect(error?.code == .invalidQuery)
    }
}
