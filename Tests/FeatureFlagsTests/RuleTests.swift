import Foundation
import Testing

@testable import FeatureFlags

@Suite struct RuleTests {
    private let context = EvaluationContext(
        targetingKey: "ada",
        attributes: [
            "app": ["version": "1.2", "build": 7, "channel": nil],
            "tags": ["x", "y", ["z": 1]],
            "empty": [],
            "on": true,
            "a.b": "dotted",
            "": ["": "unnamed"],
            "$flagd": ["flagKey": "forged", "timestamp": 1],
            "targetingKey": "forged",
        ]
    )

    @Test(
        arguments: [
            (#"{"var": "targetingKey"}"#, "ada"), (#"{"var": ["targetingKey"]}"#, "ada"),
            (#"{"var": "app.version"}"#, "1.2"), (#"{"var": "app.build"}"#, 7), (#"{"var": "tags.1"}"#, "y"),
            (#"{"var": "tags.2.z"}"#, 1), (#"{"var": "on"}"#, true), (#"{"var": "."}"#, "unnamed"),
            (#"{"var": "missing"}"#, .null), (#"{"var": ["missing", 5]}"#, 5), (#"{"var": ["app.no", "d"]}"#, "d"),
            (#"{"var": ["tags.3", "d"]}"#, "d"), (#"{"var": ["tags.01", "d"]}"#, "d"), (#"{"var": ["tags.-1", 1]}"#, 1),
            (#"{"var": ["on.x", "d"]}"#, "d"), (#"{"var": ["app.channel", "d"]}"#, .null),
            (#"{"var": ["app.channel.x", "d"]}"#, "d"), (#"{"var": ["a.b", "d"]}"#, "d"),
            (#"{"var": ["missing", {"var": "on"}]}"#, true), (#"{"var": {"if": [true, "on"]}}"#, true),
            (#"{"var": "$flagd.flagKey"}"#, "f"), (#"{"var": "$flagd.timestamp"}"#, 1_700_000_000),
            (#"{"var": "$flagd"}"#, ["flagKey": "f", "timestamp": 1_700_000_000]), (#"{"var": "$flagd.x"}"#, .null),
            (#"{"var": "targetingKey.x"}"#, .null),
        ] as [(String, FlagValue)]
    )
    func varReadsTheContext(rule: String, expected: FlagValue) throws {
        #expect(try evaluate(rule, context) == expected)
    }

    @Test(arguments: [#"{"var": ""}"#, #"{"var": null}"#, #"{"var": []}"#, #"{"var": [{"var": "missing"}]}"#])
    func anEmptyPathIsTheWholeContext(rule: String) throws {
        var expected = context.attributes
        expected["targetingKey"] = "ada"
        expected["$flagd"] = ["flagKey": "f", "timestamp": 1_700_000_000]
        #expect(try evaluate(rule, context) == .object(expected))
    }

    @Test func aTargetingKeyAmongTheAttributesIsUsedWhereThereIsNoOther() throws {
        let context = EvaluationContext(attributes: ["targetingKey": "ada"])
        #expect(try evaluate(#"{"var": "targetingKey"}"#, context) == "ada")
        #expect(try evaluate(#"{"fractional": [["a"]]}"#, context) == "a")
    }

    @Test(
        arguments: [
            (#"{"if": []}"#, .null), (#"{"if": ["x"]}"#, "x"), (#"{"if": "x"}"#, "x"), (#"{"if": [true, 1]}"#, 1),
            (#"{"if": [false, 1]}"#, .null), (#"{"if": [false, 1, 2]}"#, 2), (#"{"if": [false, 1, true, 2]}"#, 2),
            (#"{"if": [false, 1, false, 2, 3]}"#, 3), (#"{"if": [false, 1, false, 2]}"#, .null),
            (#"{"and": []}"#, .null), (#"{"and": [1, "x"]}"#, "x"), (#"{"and": [1, 0, "x"]}"#, 0),
            (#"{"and": [true, "", 3]}"#, ""), (#"{"or": []}"#, .null), (#"{"or": [0, "x", "y"]}"#, "x"),
            (#"{"or": [0, ""]}"#, ""), (#"{"or": [false, []]}"#, []), (#"{"!": []}"#, true), (#"{"!": [[]]}"#, true),
            (#"{"!": [[0]]}"#, false), (#"{"!": 0}"#, true), (#"{"!": "0"}"#, false), (#"{"!": ["0"]}"#, false),
            (#"{"!": ""}"#, true), (#"{"!": null}"#, true), (#"{"!": 0.0}"#, true), (#"{"!": -1}"#, false),
            (#"{"!": {}}"#, false), (#"{"!": {"a": 1, "b": 2}}"#, false),
            (#"[1, {"var": "on"}, [2]]"#, [1, true, [2]]), (#"{"a": 1, "b": 2}"#, ["a": 1, "b": 2]),
        ] as [(String, FlagValue)]
    )
    func logicIsThatOfJsonLogic(rule: String, expected: FlagValue) throws {
        #expect(try evaluate(rule, context) == expected)
    }

    /// JavaScript's `==`, pair by pair, in both directions.
    @Test(arguments: [
        ("1", "1", true), ("1", "1.0", true), ("1", #""1""#, true), ("1", #"" 1.0\n""#, true), ("1", "true", true),
        ("0", "false", true), ("0", #""""#, true), ("0", #""  ""#, true), ("false", #""""#, true),
        ("false", #""0""#, true), ("true", #""1""#, true), ("true", #""true""#, false), ("null", "null", true),
        ("null", "0", false), ("null", "false", false), ("null", #""""#, false), ("null", "[]", false),
        (#""a""#, #""a""#, true), (#""a""#, #""A""#, false), (#""é""#, #""e\u0301""#, false),
        (#""1""#, #""1.0""#, false),
        ("1", "2", false), ("1", #""x""#, false), ("255", #""0xFF""#, true), ("255", #""-0xFF""#, false),
        ("5", #""5.""#, true), ("0.5", #"".5""#, true), ("-0.5", #""-.5""#, true), ("1000", #""1e3""#, true),
        ("1", #""1_0""#, false), ("1", #""1 0""#, false), ("0", #"".""#, false), ("0", #""nan""#, false),
        ("1", #""inf""#, false), ("8", #""0o10""#, true), ("3", #""0b11""#, true), ("0", #""0x""#, false),
        ("[]", "0", true), ("[]", #""""#, true), ("[]", "false", true), ("[1]", "1", true), ("[1]", "true", true),
        ("[1, 2]", #""1,2""#, true), ("[null]", #""""#, true), ("[[1], 2]", #""1,2""#, true), ("[1]", "[1]", false),
        ("{}", #""[object Object]""#, true), ("{}", "{}", false), ("{}", "1", false),
        ("9007199254740993", "9007199254740992", false), ("9007199254740993", #""9007199254740993""#, true),
        ("9223372036854775807", "9223372036854775808.0", false), ("[1e21]", #""1e+21""#, true),
    ])
    func looseEqualityIsJavaScripts(left: String, right: String, expected: Bool) throws {
        for (first, second) in [(left, right), (right, left)] {
            #expect(try evaluate(#"{"==": [\#(first), \#(second)]}"#) == .bool(expected), "\(first) == \(second)")
            #expect(try evaluate(#"{"!=": [\#(first), \#(second)]}"#) == .bool(!expected), "\(first) != \(second)")
        }
    }

    @Test func aMissingArgumentIsNull() throws {
        #expect(try evaluate(#"{"==": [null]}"#) == true)
        #expect(try evaluate(#"{"==": []}"#) == true)
        #expect(try evaluate(#"{"==": [0]}"#) == false)
        #expect(try evaluate(#"{"in": ["a"]}"#) == false)
    }

    @Test(arguments: [
        (#"["a", ["a", "b"]]"#, true), (#"["c", ["a", "b"]]"#, false), (#"["a", []]"#, false),
        (#"[1, [1, "b"]]"#, true), (#"[1.0, [1]]"#, true), (#"["1", [1]]"#, false), (#"[1, ["1", "2"]]"#, false),
        (#"[null, ["a"]]"#, false), (#"[null, [null]]"#, true), (#"[true, [1]]"#, false), (#"[[1], [[1]]]"#, false),
        (#"["é", ["e\u0301", "x"]]"#, false), (#"["é", ["é"]]"#, true), (#"[{"var": "t"}, ["x"]]"#, false),
        (#"["x", {"var": "tags"}]"#, true), (#"[{"var": "targetingKey"}, ["ada", "eve"]]"#, true),
        (#"["Spring", "Springfield"]"#, true), (#"["i", "team"]"#, false), (#"["", "team"]"#, true),
        (#"["", ""]"#, false), (#"["team", "team"]"#, true), (#"["teams", "team"]"#, false), (#"[2, "123"]"#, true),
        (#"["\u0301", "é"]"#, false), (#"["a", null]"#, false), (#"["a", 1]"#, false),
        (#"["a", {"a": 1, "b": 2}]"#, false),
        (#"["app", {"var": ""}]"#, false), (#"["b", ["a", {"if": ["b"]}]]"#, true),
    ])
    func inLooksIntoListsAndTexts(arguments: String, expected: Bool) throws {
        #expect(try evaluate(#"{"in": \#(arguments)}"#, context) == .bool(expected))
    }

    /// The texts that JavaScript gives for these numbers.
    @Test(arguments: [
        (0.1, "0.1"), (-0.0, "0"), (1.0, "1"), (100.0, "100"), (1.5, "1.5"), (-2.25, "-2.25"), (1e21, "1e+21"),
        (1e20, "100000000000000000000"), (123_456_789_012_345_680_000.0, "123456789012345680000"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (1.234e-7, "1.234e-7"), (.leastNonzeroMagnitude, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.000123, "0.000123"), (1e16, "10000000000000000"), (.infinity, "Infinity"), (-.infinity, "-Infinity"),
        (.nan, "NaN"),
    ])
    func numbersAreWrittenAsJavaScriptWritesThem(number: Double, text: String) {
        #expect(FlagValue.double(number).javaScriptText == text)
    }

    @Test func notANumberIsFalseAndEqualToNothing() throws {
        let context = EvaluationContext(attributes: ["n": .double(.nan)])
        #expect(try evaluate(#"{"!": {"var": "n"}}"#, context) == true)
        #expect(try evaluate(#"{"==": [{"var": "n"}, {"var": "n"}]}"#, context) == false)
        #expect(try evaluate(#"{"fractional": ["x", ["a", {"var": "n"}]]}"#, context) == .null)
    }

    @Test func theClockIsAskedAtEveryEvaluation() throws {
        let json = """
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": 1, "b": 2}, "targeting":
              {"if": [{"==": [{"var": "$flagd.timestamp"}, 1002]}, "a", "b"]}}}}
            """
        let clock = TickingClock()
        let snapshot = try FlagSnapshot(
            json: Data(json.utf8),
            source: "clock",
            configuration: FlagConfiguration(clock: { clock.next() })
        )
        #expect((0..<4).map { _ in snapshot.resolve("f").variant } == ["b", "a", "b", "b"])
        #expect(FlagSnapshot.systemClock() > 1_700_000_000)
    }
}

/// Counts up from 1001 with every call. `@unchecked`: `timeLock` guards `time`.
private final class TickingClock: @unchecked Sendable {
    private let timeLock = NSLock()
    private var time: Int64 = 1000

    func next() -> Int64 {
        timeLock.withLock {
            time += 1
            return time
        }
    }
}
