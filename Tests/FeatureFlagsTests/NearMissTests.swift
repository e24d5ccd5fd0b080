import Foundation
import JSONText
import Testing

@testable import FeatureFlags
@testable import FlagTools

@Suite struct NearMissTests {
    private func distance(_ first: String, _ second: String, _ limit: Int = 9) -> Int? {
        NearMiss.distance(Array(first.unicodeScalars), Array(second.unicodeScalars), limit: limit)
    }

    @Test func theDistanceCountsWhatFingersDoWrong() {
        for (first, second, expected) in [
            ("", "", 0), ("", "ab", 2), ("ab", "", 2), ("email", "email", 0), ("email", "emial", 1),
            ("email", "mail", 1),
            ("email", "emaill", 1), ("email", "emayl", 1), ("kitten", "sitting", 3), ("ca", "abc", 3),
        ] {
            #expect(distance(first, second) == expected, "\(first) \(second)")
            #expect(distance(second, first) == expected, "\(second) \(first)")
            if expected > 0 { #expect(distance(first, second, expected - 1) == nil) }
        }
    }

    @Test func theNearestIsFoundWhateverTheOrder() {
        let names = ["habit-store-kill", "habit-store-new", "habit-store-old", "habit-store-stage", "size"]
        for candidates in [names, names.reversed()] {
            #expect(NearMiss.nearest(to: "habit-store-stge", among: candidates) == "habit-store-stage")
            #expect(NearMiss.nearest(to: "habit_store_stage", among: candidates) == "habit-store-stage")
            #expect(NearMiss.nearest(to: "habit-store-ned", among: candidates) == "habit-store-new")
            #expect(NearMiss.nearest(to: "szie", among: candidates) == "size")
            #expect(NearMiss.nearest(to: "colour", among: candidates) == nil)
            #expect(NearMiss.nearest(to: "", among: candidates) == nil)
        }
        // Of two equally near names, always the same one.
        #expect(NearMiss.nearest(to: "flag-c", among: ["flag-b", "flag-a"]) == "flag-a")
        #expect(NearMiss.nearest(to: "flag-c", among: ["flag-a", "flag-b"]) == "flag-a")
    }

    /// `habit-store-stge` gave only "not found": users looked for the error in the file.
    @Test func aFlagThatIsNotFoundIsAnsweredWithTheNearestOne() throws {
        let snapshot = try makeSnapshot(flagFile("x", key: "habit-store-stage"))
        let near = snapshot.resolve("habit-store-stge")
        #expect(near.errorCode == .flagNotFound)
        #expect(near.errorMessage?.hasSuffix("did you mean \"habit-store-stage\"?") == true)
        #expect(snapshot.resolve("other").errorMessage?.contains("did you mean") == false)
    }

    @Test func asksForAFlagThatDoesNotExistStayCheap() throws {
        let flags = (0..<20_000).map { "\"flag-\($0)\": {\"state\": \"ENABLED\", \"variants\": {\"a\": 1}}" }
        let snapshot = try makeSnapshot(#"{"flags": {\#(flags.joined(separator: ", "))}}"#)
        let (_, time) = withThreadTime {
            for number in 0..<20 { #expect(snapshot.resolve("flog-\(number)x").errorCode == .flagNotFound) }
        }
        #expect(time < .seconds(20))
    }

    private func explain(_ targeting: String, _ context: EvaluationContext) throws -> FlagExplanation {
        var explanation: FlagExplanation?
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            try write(
                """
                {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b",
                  "targeting": \(targeting)}}, "$evaluators": {"pro": {"==": [{"var": "plann"}, "pro"]}}}
                """,
                to: file
            )
            explanation = try FlagExplanation.explain("f", context: context, path: file.path)
        }
        return try #require(explanation)
    }

    /// A context with `emial` gave the default, and the steps showed an unexplained null.
    @Test func anAttributeThatIsNearlyTheRulesIsNamed() throws {
        let rule = #"{"if": [{"ends_with": [{"var": "email"}, "@x.org"]}, "a", {"$ref": "pro"}, "a", "b"]}"#
        let context = EvaluationContext(targetingKey: "ada", attributes: ["emial": "ada@x.org", "plan": "pro"])
        let hints = try explain(rule, context).hints
        #expect(
            hints.map(\.message) == [
                #"the rule reads "email", and the context has "emial""#,
                #"the rule reads "plann", and the context has "plan""#,
            ]
        )
        #expect(hints.first?.location.line == 2)
        #expect(hints.first?.location.column == 47)
        let right = EvaluationContext(attributes: ["email": "ada@x.org", "plann": "pro"])
        #expect(try explain(rule, right).hints.isEmpty)
        #expect(try explain(rule, EvaluationContext(targetingKey: "ada")).hints.isEmpty)
    }

    @Test func nestedAttributesAndOnesOfTheEvaluationAreNamedToo() throws {
        let context = EvaluationContext(targetingKey: "ada", attributes: ["app": ["version": "1.2.3"]])
        for (path, meant) in [
            ("app.verison", "app.version"), ("targetingkey", "targetingKey"), ("$flagd.timestmp", "$flagd.timestamp"),
        ] {
            let hints = try explain(#"{"if": [{"==": [{"var": "\#(path)"}, 1]}, "a", "b"]}"#, context).hints
            #expect(hints.map(\.message) == ["the rule reads \"\(path)\", and the context has \"\(meant)\""])
        }
        // The elements of a list are not attributes of the context.
        let inner = #"{"if": [{"some": [{"var": "app.list"}, {"==": [{"var": "targetingkey"}, 1]}]}, "a", "b"]}"#
        #expect(try explain(inner, context).hints.isEmpty)
    }
}
