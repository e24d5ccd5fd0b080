import Testing

@testable import FeatureFlags

@Suite struct FlagDefinitionTests {
    private static let good = #""state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "a""#

    struct Wrong: Sendable, CustomTestStringConvertible {
        let definition: String
        let column: Int
        let message: String
        var testDescription: String { definition }
    }

    /// Each definition is on line 3 of the file, after `"bad": ` (column 8).
    static let wrong: [Wrong] = [
        Wrong(definition: "1", column: 8, message: "must be an object"),
        Wrong(definition: "{}", column: 1, message: #"no "state""#),
        Wrong(definition: #"{"state": "ON"}"#, column: 18, message: #"must be "ENABLED" or "DISABLED""#),
        Wrong(definition: #"{"state": 1}"#, column: 18, message: #"must be "ENABLED" or "DISABLED""#),
        Wrong(definition: #"{"state": "ENABLED"}"#, column: 1, message: #"no "variants""#),
        Wrong(definition: #"{"state": "ENABLED", "variants": {}}"#, column: 41, message: "at least one member"),
        Wrong(definition: #"{"state": "ENABLED", "variants": ["a"]}"#, column: 41, message: "at least one member"),
        Wrong(definition: #"{"state": "ENABLED", "variants": {"a": null}}"#, column: 47, message: "not null"),
        Wrong(definition: #"{"state": "ENABLED", "variants": {"a": [1]}}"#, column: 47, message: "not array"),
        Wrong(
            definition: #"{"state": "ENABLED", "variants": {"a": 1, "b": "B"}}"#,
            column: 55,
            message: #""a" is of type number, and "b" of type string"#
        ),
        Wrong(definition: #"{"state": "ENABLED", "variants": {"a": 1e999}}"#, column: 47, message: "must be finite"),
        Wrong(
            definition: #"{"state": "ENABLED", "variants": {"a": {"b": [-\#(String(repeating: "1", count: 1024))]}}}"#,
            column: 54,
            message: "at most 1024 bytes long"
        ),
        Wrong(
            definition: #"{\#(good), "targeting": {"if": [{"==": [1, 1e999]}, "a"]}}"#,
            column: 118,
            message: "finite"
        ),
        Wrong(
            definition: #"{\#(good), "targeting": {"in": [1, {"x": 1, "y": 1e999}]}}"#,
            column: 124,
            message: "finite"
        ),
        Wrong(definition: #"{\#(good), "defaultVariant": "c"}"#, column: 104, message: #""c" is not one"#),
        Wrong(definition: #"{\#(good), "defaultVariant": true}"#, column: 104, message: "name of a variant, or null"),
        Wrong(definition: #"{\#(good), "targeting": "a"}"#, column: 99, message: "not a value of type string"),
        Wrong(definition: #"{\#(good), "targeting": ["a"]}"#, column: 99, message: "not a value of type array"),
        Wrong(definition: #"{\#(good), "targeting": {"if": [1], "or": [1]}}"#, column: 99, message: "one operator"),
        Wrong(
            definition: #"{\#(good), "targeting": {"if": [{"==": [1, 1], "x": 2}, "a"]}}"#,
            column: 107,
            message: #"the operator "==" must be the only member"#
        ),
        Wrong(
            definition: #"{\#(good), "targeting": {"if": [{"semver": ["1", ">", "2"]}, "a"]}}"#,
            column: 108,
            message: #"the operator "semver" is not known"#
        ),
        Wrong(
            definition: #"{\#(good), "targeting": {"if": [{"$ref": "x"}, "a"]}}"#,
            column: 116,
            message: #"there is no evaluator "x" under "$evaluators""#
        ),
    ]

    @Test(arguments: wrong)
    func aFlagThatIsWrongIsQuarantinedAlone(wrong: Wrong) throws {
        let snapshot = try makeSnapshot(
            "{\"flags\": {\n\"before\": {\(Self.good)},\n\"bad\": \(wrong.definition),\n\"after\": {\(Self.good)}}}"
        )
        #expect(snapshot.keys == ["after", "bad", "before"])
        #expect(snapshot.quarantined.keys.sorted() == ["bad"])
        let error = try #require(snapshot.quarantined["bad"])
        #expect(error.code == .parseError)
        #expect(error.message.contains(wrong.message), "\(error)")
        #expect(error.location == FlagError.Location(file: "test.json", line: 3, column: wrong.column), "\(error)")

        let details = snapshot.string("bad", default: "caller")
        #expect(details.value == "caller")
        #expect(details.reason == .error)
        #expect(details.errorCode == .parseError)
        #expect(details.errorMessage == "test.json:3:\(wrong.column): \(error.message)")
        #expect(snapshot.string("before", default: "caller").value == "A")
        #expect(snapshot.string("after", default: "caller").value == "A")
    }

    /// Operators disable a flag to stop it in a hurry: an error in its rule must not prevent that.
    @Test func aDisabledFlagStaysDisabledThoughItIsQuarantined() throws {
        let snapshot = try makeSnapshot(
            #"{"flags": {"f": {"state": "DISABLED", "variants": {"a": "A"}, "targeting": {"nope": 1}}}}"#
        )
        #expect(snapshot.quarantined["f"]?.message.contains("nope") == true)
        let details = snapshot.string("f", default: "caller")
        #expect(details.reason == .disabled)
        #expect(details.value == "caller")
        #expect(details.errorCode == nil)
    }

    @Test func flagsCanBeAnArray() throws {
        let snapshot = try makeSnapshot(
            """
            {"flags": [
              {"key": "f", "state": "ON"},
              {"key": "g", "state": "ENABLED"},
              {\(Self.good)},
              {"key": "f", "state": "ENABLED", "variants": {"b": "B"}, "defaultVariant": "b"}
            ]}
            """
        )
        #expect(snapshot.keys == ["f", "g"])
        #expect(snapshot.string("f", default: "").value == "B")
        #expect(snapshot.quarantined.mapValues(\.location.line) == ["g": 3])
        #expect(
            snapshot.warnings.map(\.description) == [
                #"test.json:4:3: a flag of an array must be an object with a "key"; it is left out"#,
                #"test.json:5:11: the flag "f" occurs twice; the last one counts"#,
            ]
        )
    }

    @Test func ofTwoFlagsWithOneKeyTheLastCountsAlsoWhenTheFirstWasQuarantined() throws {
        let snapshot = try makeSnapshot(#"{"flags": {"f": 1, "f": {\#(Self.good)}}}"#)
        #expect(snapshot.quarantined.isEmpty)
        #expect(snapshot.string("f", default: "").value == "A")
        #expect(
            snapshot.warnings.map(\.description) == [
                #"test.json:1:20: "f" occurs twice in one object; the last one counts"#
            ]
        )
    }

    @Test func aMisspelledMemberIsAWarning() throws {
        let snapshot = try makeSnapshot(
            "{\"flags\": {\"f\": {\(Self.good),\n  \"targetting\": {\"if\": [\"b\"]}}},\n \"comment\": 1}"
        )
        #expect(snapshot.string("f", default: "").value == "A")
        #expect(
            snapshot.warnings.map(\.description) == [
                #"test.json:3:2: a flag file has no member "comment"; it is ignored"#,
                #"test.json:2:3: a flag has no member "targetting"; it is ignored"#,
            ]
        )
    }

    @Test func metadataOfTheFlagLiesOverThatOfTheSet() throws {
        let snapshot = try makeSnapshot(
            """
            {"metadata": {"flagSetId": "s", "version": 3, "list": []},
             "flags": {
               "f": {\(Self.good), "metadata": {"version": 4.5, "beta": true, "none": null}},
               "g": {\(Self.good), "metadata": "text"}}}
            """
        )
        #expect(snapshot.metadata == ["flagSetId": "s", "version": 3])
        #expect(snapshot.resolve("f").flagMetadata == ["flagSetId": "s", "version": 4.5, "beta": true])
        #expect(snapshot.resolve("g").flagMetadata == ["flagSetId": "s", "version": 3])
        #expect(snapshot.quarantined.isEmpty)
        #expect(
            snapshot.warnings.map(\.message) == [
                #"the metadata "list" must be a string, number or boolean; it is ignored"#,
                #"the metadata "none" must be a string, number or boolean; it is ignored"#,
                #"the "metadata" must be an object; it is ignored"#,
            ]
        )
    }

    @Test func rulesStandSixtyFourDeepAndNoDeeper() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"!": "#, count: depth) + "true" + String(repeating: "}", count: depth)
        }
        // The innermost literal counts as a rule too.
        let deepest = try makeSnapshot(targeting: nested(FlagLimits.ruleDepth - 1))
        #expect(deepest.quarantined.isEmpty)
        #expect(deepest.resolve("f").variant == "false")
        let tooDeep = try makeSnapshot(targeting: nested(FlagLimits.ruleDepth))
        #expect(tooDeep.quarantined["f"]?.message.contains("more than 64 deep") == true)
    }

    @Test func aNameFromTheFileStandsOnOneShortLineInAMessage() throws {
        let name = "\\n\\u202e" + String(repeating: "x", count: 1000)
        let snapshot = try makeSnapshot(targeting: #"{"\#(name)": 1}"#)
        let message = try #require(snapshot.quarantined["f"]?.message)
        #expect(message.count < 200)
        #expect(message.contains(#""\u{0A}\u{202E}xxx"#) || message.contains(#""\n\u{202E}xxx"#), "\(message)")
    }
}
