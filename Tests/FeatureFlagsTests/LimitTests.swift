import Foundation
import Testing

@testable import FeatureFlags

@Suite struct LimitTests {
    private let list = FlagValue.list((0..<2000).map { .int($0) })

    @Test(
        arguments: [
            // Work that grows with the square of the list, or by doubling.
            #"{"map": [{"var": "list"}, {"map": [{"var": "list"}, 1]}]}"#,
            #"{"reduce": [{"var": "list"}, {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "xx"]}"#,
            #"{"reduce": [{"var": "list"}, {"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}, [1]]}"#,
            #"{"reduce": [{"var": "list"}, [{"var": "accumulator"}, {"var": "accumulator"}], 1]}"#,
            #"{"filter": [{"var": "list"}, {"in": [-1, {"var": ""}]}]}"#,
        ]
    )
    func anEvaluationThatIsTooMuchWorkIsAnError(rule: String) throws {
        let context = EvaluationContext(attributes: ["list": .list((0..<400).map { _ in list })])
        let isError = rule.contains("reduce") || rule.contains("filter")
        let snapshot = try makeSnapshot(targeting: #"{"if": [\#(rule), "a", "b"]}"#)
        let (resolution, time) = withThreadTime { snapshot.resolve("f", context: context) }
        #expect(time < .seconds(10))
        if isError {
            #expect(resolution.errorCode == .general)
            #expect(
                resolution.errorMessage?.contains("steps") == true || resolution.errorMessage?.contains("deep") == true
            )
        }
    }

    /// A rule could nest a list or an object more deeply with every element, until freeing it overflows the stack.
    @Test(
        arguments: [
            #"{"reduce": [{"var": "list"}, [{"var": "accumulator"}], 1]}"#,
            #"{"reduce": [{"var": "list"}, {"var": ""}, 1]}"#,
        ]
    )
    func aRuleCannotNestWithoutEnd(rule: String) throws {
        let context = EvaluationContext(attributes: ["list": list])
        let snapshot = try makeSnapshot(targeting: #"{"if": [\#(rule), "a", "b"]}"#)
        let resolution = snapshot.resolve("f", context: context)
        #expect(resolution.errorMessage?.contains("deep") == true)
    }

    @Test func anEvaluatorCountsAsIfItStoodInTheRule() throws {
        let big = String(repeating: #"{"!": 1}, "#, count: 3000)
        let json = #"""
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": 1}, "targeting": {"or": [{"$ref": "big"}, {"$ref": "big"},
              {"$ref": "big"}, {"$ref": "big"}]}},
              "g": {"state": "ENABLED", "variants": {"true": 1}, "targeting": {"or": [{"$ref": "big"}, true]}}},
              "$evaluators": {"big": {"or": [\#(big)false]}}}
            """#
        let snapshot = try makeSnapshot(json)
        #expect(snapshot.quarantined["f"]?.message.contains("more than 10000 operators") == true)
        #expect(snapshot.resolve("g").variant == "true")
    }

    @Test func anEvaluatorThatIsDeepCountsWhereItStands() throws {
        func nested(_ depth: Int, _ inner: String) -> String {
            String(repeating: #"{"!": "#, count: depth) + inner + String(repeating: "}", count: depth)
        }
        let json = #"""
            {"flags": {"f": {"state": "ENABLED", "variants": {"true": 1, "false": 2}, "targeting": \#(nested(33, #"{"$ref": "e"}"#))},
              "g": {"state": "ENABLED", "variants": {"true": 1, "false": 2}, "targeting": \#(nested(32, #"{"$ref": "e"}"#))}},
              "$evaluators": {"e": \#(nested(31, "true"))}}
            """#
        let snapshot = try makeSnapshot(json)
        #expect(snapshot.quarantined.keys.sorted() == ["f"])
        #expect(snapshot.resolve("g").variant == "false")
    }

    /// A short file in which many rules refer to a long list was as much work as a file of all these lists.
    @Test func evaluatorsCountWhereverTheyAreReferredTo() throws {
        func file(_ references: Int) -> String {
            let list = String(repeating: "1,", count: 199_997) + "1"
            let uses = String(repeating: #"{"in": [{"var": "x"}, {"$ref": "list"}]}, "#, count: references)
            let start = #""state": "ENABLED", "variants": {"true": 1, "false": 2}"#
            return #"""
                {"flags": {"f": {\#(start), "targeting": {"or": [\#(uses)false]}},
                  "kill": {\#(start), "targeting": {"if": [true, "true"]}},
                  "late": {\#(start), "targeting": {"in": [1, {"$ref": "list"}]}}}, "$evaluators": {"list": [\#(list)]}}
                """#
        }
        #expect(try makeSnapshot(file(9)).quarantined.isEmpty)
        let snapshot = try makeSnapshot(file(11))
        let error = try #require(snapshot.quarantined["f"])
        #expect(error.message.contains("more than 2000000 values"))
        #expect(error.location.line == 1)
        #expect(snapshot.quarantined.keys.sorted() == ["f", "late"])
        #expect(snapshot.resolve("kill").variant == "true")
    }

    @Test func aFileOfTooManyValuesIsRefused() throws {
        let error = try loadingError(Array("[\(String(repeating: "1,", count: FlagLimits.jsonValues))1]".utf8))
        #expect(error.message.contains("more than 1000000 values"))
    }

    /// What `make fuzz-flags` judges by: the same numbers on every machine.
    @Test func workIsCountedAndNotTimed() throws {
        func work(_ body: () throws -> Void) rethrows -> Int {
            let meter = WorkMeter()
            try WorkMeter.$current.withValue(meter) { try body() }
            return meter.total
        }
        let text =
            #"{"flags": {"f": {"state": "ENABLED", "variants": {"a": 1}, "targeting": {"if": [{"var": "x"}, "a"]}}}}"#
        let reading = try work { _ = try makeSnapshot(text) }
        // Its bytes, its 11 values, and the 2 operators.
        #expect(reading == text.utf8.count + 11 + 2)
        let snapshot = try makeSnapshot(text)
        #expect(work { _ = snapshot.explain("f", context: EvaluationContext()) } == 2)
        #expect(work { _ = snapshot.resolve("f", context: EvaluationContext()) } == 0)
        let broken = Array((#"{"kill": "# + String(repeating: "[", count: 200)).utf8)
        let configuration = FlagConfiguration(killFlags: ["kill"])
        let searching = work {
            var damaged = DamagedFile(bytes: broken, name: "test", configuration: configuration)
            _ = damaged?.killFlags(.json)
        }
        #expect(searching <= broken.count)
        let rule = try JsonLogicRule(json: Data(#"{"map": [{"var": "l"}, {"+": [{"var": ""}, 1]}]}"#.utf8))
        let list = EvaluationContext(attributes: ["l": .list((0..<100).map { .int($0) })])
        // Twice: as a flag's rule and on its own. The operator, its list and 100 elements, with two operators for each.
        #expect(rule.work(flagKey: "f", context: list) == 2 * (2 + 100 + 200))
    }

    @Test func anEvaluationCanBeExplained() throws {
        let snapshot = try makeSnapshot(
            targeting:
                "{\"if\": [{\"==\": [{\"var\": \"x\"}, 1]},\n \"a\",\n {\"fractional\": [[\"a\", 1], [\"b\", 3]]}]}"
        )
        let context = EvaluationContext(targetingKey: "ada", attributes: ["x": 2])
        let (resolution, steps) = snapshot.explain("f", context: context)
        #expect(resolution == snapshot.resolve("f", context: context))
        #expect(steps.map(\.operator) == ["if", "==", "var", "fractional"])
        #expect(steps.map(\.depth) == [0, 1, 2, 1])
        #expect(steps.map(\.line) == [5, 5, 5, 7])
        #expect(steps[1].result == false)
        #expect(steps[2].result == 2)
        let choice = try #require(steps[3].fractional)
        #expect(choice.generation == .v2)
        #expect(choice.bucketingBytes == Array("fada".utf8))
        #expect(choice.totalWeight == 4)
        #expect(choice.bucket == (UInt64(choice.hash) * 4) >> 32)
        #expect(choice.entries.map(\.weight) == [1, 3])
        #expect(choice.chosen.map { choice.entries[$0].variant.stringValue } == resolution.variant)
        #expect(snapshot.explain("none", context: context).resolution.errorCode == .flagNotFound)
    }
}
