import Foundation
import Testing

@testable import FeatureFlags

/// The evaluation scenarios in flagd's specification and testbed, with flags of the same keys, since the hashes depend on them.
@Suite struct FlagdScenarioTests {
    private static let suits = #"["clubs", 25], ["diamonds", 25], ["hearts", 25], ["spades", 25]"#

    private static func flag(_ variants: String, _ defaultVariant: String, _ targeting: String) -> String {
        #"{"state": "ENABLED", "variants": {\#(variants)}, "defaultVariant": "\#(defaultVariant)", "targeting": \#(targeting)}"#
    }

    private static func named(_ names: String...) -> String {
        names.map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")
    }

    private static let file = """
        {"flags": {
          "fractional-flag": \(flag(named("clubs", "diamonds", "hearts", "spades", "wild"), "wild",
            #"{"fractional": [{"cat": [{"var": "$flagd.flagKey"}, {"var": "user.name"}]}, \#(suits)]}"#)),
          "fractional-flag-shorthand": \(flag(named("heads", "tails", "draw"), "draw",
            #"{"fractional": [["heads"], ["tails", 1]]}"#)),
          "fractional-flag-A-shared-seed": \(flag(named("clubs", "diamonds", "hearts", "spades", "wild"), "wild",
            #"{"fractional": [{"cat": ["shared-seed", {"var": "user.name"}]}, \#(suits)]}"#)),
          "fractional-flag-B-shared-seed": \(flag(
            #""clubs": "ace-of-clubs", "diamonds": "ace-of-diamonds", "hearts": "ace-of-hearts", "spades": "ace-of-spades","#
            + #" "wild": "wild""#, "wild", #"{"fractional": [{"cat": ["shared-seed", {"var": "user.name"}]}, \#(suits)]}"#)),
          "fractional-hash-edge-flag": \(flag(named("lower", "upper"), "lower",
            #"{"fractional": [{"var": "targetingKey"}, ["lower", 50], ["upper", 50]]}"#)),
          "fractional-nested-if-flag": \(flag(named("premium", "standard", "fallback"), "fallback",
            #"{"fractional": [{"var": "targetingKey"}, [{"if": [{"==": [{"var": "tier"}, "premium"]}, "premium", "standard"]}, 50],"#
            + #"["standard", 50]]}"#)),
          "fractional-nested-var-flag": \(flag(named("red", "green", "blue", "fallback"), "fallback",
            #"{"fractional": [{"var": "targetingKey"}, [{"var": "color"}, 50], ["blue", 50]]}"#)),
          "fractional-nested-weight-flag": \(flag(named("red", "blue", "fallback"), "fallback",
            #"{"fractional": [{"var": "targetingKey"}, ["red", {"if": [{"==": [{"var": "tier"}, "premium"]}, 100, 0]}],"#
            + #"["blue", 10]]}"#)),
          "fractional-as-condition-flag": \(flag(#""big": "hundreds", "small": "ones""#, "small",
            #"{"if": [{"fractional": [[false, 0], [true, 100]]}, "big", "small"]}"#)),
          "fractional-zero-weights-flag": \(flag(named("one", "two", "fallback"), "fallback",
            #"{"fractional": [{"var": "targetingKey"}, ["one", 0], ["two", 0]]}"#)),
          "starts-ends-flag": \(flag(named("prefix", "postfix", "none"), "none",
            #"{"if": [{"starts_with": [{"var": "id"}, "abc"]}, "prefix", {"if": [{"ends_with": [{"var": "id"}, "xyz"]},"#
            + #""postfix", "none"]}]}"#)),
          "affix-null-flag": \(flag(named("true", "false", "fallback"), "fallback", #"{"starts_with": [{"var": "num"}, "abc"]}"#)),
          "affix-arguments-flag": \(flag(named("true", "false", "fallback"), "fallback", #"{"ends_with": ["xyz"]}"#)),
          "version-flag": \(flag(named("equal", "greater", "lesser", "none"), "none",
            #"{"if": [{"sem_ver": [{"var": "version"}, "=", "2.0.0"]}, "equal", {"sem_ver": [{"var": "version"}, ">", "2.0.0"]},"#
            + #""greater", {"sem_ver": [{"var": "version"}, "<", "2.0.0"]}, "lesser", "none"]}"#)),
          "range-version-flag": \(flag(named("minor", "major", "none"), "none",
            #"{"if": [{"sem_ver": [{"var": "version"}, "~", "3.0.0"]}, "minor", {"sem_ver": [{"var": "version"}, "^", "3.0.0"]},"#
            + #""major", "none"]}"#)),
          "timestamp-flag": \(flag(named("past", "future", "none"), "none",
            #"{"if": [{"<": [{"var": "$flagd.timestamp"}, {"var": "time"}]}, "future", "past"]}"#)),
          "email-flag": \(flag(named("hi", "bye", "none"), "none", #"{"if": [{ "$ref" :  "is_ballmer" }, "hi", "bye"]}"#)),
          "other-email-flag": \(flag(named("yes", "no", "none"), "none", #"{"if": [{"$ref":"is_ballmer"}, "yes", "no"]}"#)),
          "list-ref-flag": \(flag(named("true", "false"), "false", #"{"in": [{"var": "email"}, {"$ref": "staff"}]}"#)),
          "arguments-ref-flag": \(flag(named("true", "false"), "false", #"{"in": {"$ref": "arguments"}}"#)),
          "nonexistent-ref-flag": \(flag(named("true"), "true", #"{"if": [{"$ref": "nonexistent"}, "true"]}"#)),
          "nested-ref-flag": \(flag(named("true"), "true", #"{"$ref": "nested"}"#)),
          "targeting-key-flag": \(flag(named("miss", "hit"), "miss",
            #"{"if": [{"==": [{"var": "targetingKey"}, "5c3d8535-f81a-4478-a6d3-afaa4d51199e"]}, "hit", null]}"#))
        }, "$evaluators": {
          "is_ballmer": {"==": ["ballmer@macrosoft.com", {"var": ["email"]}]},
          "staff": ["ada@macrosoft.com", "ballmer@macrosoft.com"],
          "arguments": [{"var": "email"}, ["ballmer@macrosoft.com"]],
          "nested": {"if": [{"$ref": "is_ballmer"}, "true"]}
        }}
        """

    private func details(
        _ key: String,
        _ context: EvaluationContext,
        _ generation: FractionalGeneration = .v2
    ) throws -> EvaluationDetails<String> {
        let configuration = FlagConfiguration(fractional: generation, clock: { 1_700_000_000 })
        return try FlagSnapshot(json: Data(Self.file.utf8), source: "flagd.json", configuration: configuration)
            .string(key, default: "caller", context: context)
    }

    private func user(_ name: String) -> EvaluationContext {
        EvaluationContext(attributes: ["user": ["name": .string(name)]])
    }

    @Test(
        arguments: [
            (.v1, ["spades", "clubs", "diamonds", "hearts", "diamonds"]),
            (.v2, ["hearts", "spades", "clubs", "diamonds", "clubs"]),
            (.v3, ["diamonds", "diamonds", "clubs", "clubs", "spades"]),
        ] as [(FractionalGeneration, [String])]
    )
    func eachGenerationPutsUsersIntoItsOwnBuckets(generation: FractionalGeneration, expected: [String]) throws {
        let names = ["jack", "queen", "ten", "nine", "3"]
        #expect(try names.map { try details("fractional-flag", user($0), generation).value } == expected)
    }

    @Test func theShorthandBucketsByFlagAndUser() throws {
        let users = ["jon@company.com", "jane@company.com"]
        for (generation, expected) in [
            (FractionalGeneration.v1, ["heads", "tails"]), (.v2, ["heads", "tails"]), (.v3, ["tails", "tails"]),
        ] {
            let values = try users.map {
                try details("fractional-flag-shorthand", EvaluationContext(targetingKey: $0), generation).value
            }
            #expect(values == expected, "\(generation)")
        }
        let keyed = try ["user-1", "user-2", "user-3"].map {
            try details("fractional-flag-shorthand", EvaluationContext(targetingKey: $0), .v3).value
        }
        #expect(keyed == ["heads", "tails", "heads"])
        let others: [[String: FlagValue]] = [
            [:], ["irrelevant": "none"], ["targetingKey": 12345], ["targetingKey": true],
        ]
        for attributes in others {
            for generation in FractionalGeneration.allCases {
                let details = try details(
                    "fractional-flag-shorthand",
                    EvaluationContext(attributes: attributes),
                    generation
                )
                #expect((details.value, details.reason) == ("draw", .default), "\(attributes)")
            }
        }
    }

    @Test func flagsCanShareASeed() throws {
        let v1 = try ["jack", "queen", "ten", "nine"].map {
            try details("fractional-flag-A-shared-seed", user($0), .v1).value
        }
        #expect(v1 == ["hearts", "spades", "hearts", "diamonds"])
        let names = ["seven", "eight", "nine", "two"]
        for (generation, expected) in [
            (FractionalGeneration.v2, ["hearts", "diamonds", "clubs", "spades"]),
            (.v3, ["hearts", "hearts", "diamonds", "diamonds"]),
        ] {
            for flag in ["A", "B"] {
                let variants = try names.map {
                    try details("fractional-flag-\(flag)-shared-seed", user($0), generation).variant
                }
                #expect(variants == expected, "\(generation) \(flag)")
            }
        }
    }

    @Test(arguments: [
        ("ejOoVL", "lower"), ("bY9fO-", "lower"), ("SI7p-", "lower"), ("6LvT0", "upper"), ("ceQdGm", "upper"),
    ])
    func theEndsOfTheHashAreTheEndsOfTheWeights(key: String, expected: String) throws {
        #expect(try details("fractional-hash-edge-flag", EvaluationContext(targetingKey: key)).value == expected)
    }

    @Test(
        arguments: [
            ("fractional-nested-if-flag", "jon@company.com", "premium", "premium"),
            ("fractional-nested-if-flag", "jon@company.com", "basic", "standard"),
            ("fractional-nested-if-flag", "user1", "premium", "standard"),
            ("fractional-nested-if-flag", "user1", "basic", "standard"),
            ("fractional-nested-weight-flag", "jon@company.com", "premium", "red"),
            ("fractional-nested-weight-flag", "jon@company.com", "basic", "blue"),
            ("fractional-nested-weight-flag", "user1", "premium", "red"),
            ("fractional-nested-weight-flag", "user1", "basic", "blue"),
            ("fractional-as-condition-flag", "some-targeting-key", "", "hundreds"),
            ("fractional-zero-weights-flag", "some-targeting-key", "", "fallback"),
        ]
    )
    func variantsWeightsAndConditionsCanBeNested(key: String, user: String, tier: String, expected: String) throws {
        let context = EvaluationContext(targetingKey: user, attributes: ["tier": .string(tier)])
        #expect(try details(key, context).value == expected)
    }

    @Test(
        arguments: [
            ("jon@company.com", "red", "red", nil), ("jon@company.com", "green", "green", nil),
            ("user1", "red", "blue", nil), ("jon@company.com", "yellow", "caller", .general),
            ("jon@company.com", "", "caller", .general),
        ] as [(String, String, String, FlagError.Code?)]
    )
    func aVariantFromTheContextMustBeOneOfTheFlag(
        user: String,
        color: String,
        expected: String,
        code: FlagError.Code?
    ) throws {
        let context = EvaluationContext(targetingKey: user, attributes: ["color": .string(color)])
        let details = try details("fractional-nested-var-flag", context)
        #expect(details.value == expected)
        #expect(details.errorCode == code)
    }

    @Test(arguments: [
        ("abcdef", "prefix"), ("uvwxyz", "postfix"), ("abcxyz", "prefix"), ("lmnopq", "none"), ("ab", "none"),
    ])
    func textsAreToldByTheirEnds(id: String, expected: String) throws {
        #expect(try details("starts-ends-flag", EvaluationContext(attributes: ["id": .string(id)])).value == expected)
    }

    @Test func whatIsNoTextHasNoEnds() throws {
        for key in ["affix-null-flag", "affix-arguments-flag"] {
            let details = try details(key, EvaluationContext(attributes: ["num": 123]))
            #expect(details.value == "fallback")
            #expect(details.reason == .default)
        }
    }

    @Test(
        arguments: [
            ("version-flag", "2.0.0", "equal"), ("version-flag", "2.1.0", "greater"),
            ("version-flag", "1.9.0", "lesser"),
            ("version-flag", "2.0.0-alpha", "lesser"), ("version-flag", "2.0.0.0", "none"),
            ("range-version-flag", "3.0.1", "minor"), ("range-version-flag", "3.1.0", "major"),
            ("range-version-flag", "4.0.0", "none"),
        ]
    )
    func versionsAreCompared(key: String, version: String, expected: String) throws {
        #expect(try details(key, EvaluationContext(attributes: ["version": .string(version)])).value == expected)
    }

    @Test func theTimeIsThatOfTheClock() throws {
        #expect(try details("timestamp-flag", EvaluationContext(attributes: ["time": 1_700_000_001])).value == "future")
        #expect(try details("timestamp-flag", EvaluationContext(attributes: ["time": 1_700_000_000])).value == "past")
    }

    @Test func evaluatorsAreSplicedIn() throws {
        let ballmer = EvaluationContext(attributes: ["email": "ballmer@macrosoft.com"])
        let ada = EvaluationContext(attributes: ["email": "ada@macrosoft.com"])
        #expect(try details("email-flag", ballmer).value == "hi")
        #expect(try details("email-flag", ada).value == "bye")
        #expect(try details("other-email-flag", ballmer).value == "yes")
        #expect(try details("list-ref-flag", ada).value == "true")
        #expect(try details("list-ref-flag", EvaluationContext()).value == "false")
        #expect(try details("arguments-ref-flag", ballmer).value == "true")
        #expect(try details("arguments-ref-flag", ada).value == "false")
        for key in ["nonexistent-ref-flag", "nested-ref-flag"] {
            #expect(try details(key, ballmer).errorCode == .parseError)
            #expect(try details(key, ballmer).value == "caller")
        }
    }

    @Test func theTargetingKeyIsAnAttribute() throws {
        let hit = try details(
            "targeting-key-flag",
            EvaluationContext(targetingKey: "5c3d8535-f81a-4478-a6d3-afaa4d51199e")
        )
        #expect((hit.value, hit.reason) == ("hit", .targetingMatch))
        let miss = try details(
            "targeting-key-flag",
            EvaluationContext(targetingKey: "f20bd32d-703b-48b6-bc8e-79d53c85134a")
        )
        #expect((miss.value, miss.reason) == ("miss", .default))
    }

    /// The examples of RFC 8949, appendix A, after numbers without a fraction became integers.
    @Test(
        arguments: [
            (0, "00"), (23, "17"), (24, "1818"), (100, "1864"), (1000, "1903e8"), (1_000_000, "1a000f4240"),
            (1_000_000_000_000, "1b000000e8d4a51000"), (-1, "20"), (-10, "29"), (-100, "3863"), (-1000, "3903e7"),
            (.int(.min), "3b7fffffffffffffff"), (.double(-0.0), "00"), (.double(10), "0a"), (.double(1.5), "f93e00"),
            (.double(0x1p63), "1b8000000000000000"), (.double(0x1p64), "fa5f800000"),
            (.double(1.1), "fb3ff199999999999a"),
            (.double(-4.1), "fbc010666666666666"), (.double(0x1p-24), "f90001"), (.double(0x1p-14), "f90400"),
            (.double(0x1.8p-24), "fa33c00000"), (.double(3.4028234663852886e38), "fa7f7fffff"),
            (.double(1e300), "fb7e37e43c8800759c"),
            (.double(.infinity), "f97c00"), (.double(-.infinity), "f9fc00"), (.double(.nan), "f97e00"), (false, "f4"),
            (true, "f5"), (.null, "f6"), ("", "60"), ("IETF", "6449455446"), ("\"\\", "62225c"), ("ü", "62c3bc"),
            ("水", "63e6b0b4"), ([], "80"), ([1, [2, 3], [4, 5]], "8301820203820405"), ([:], "a0"),
            (["a": 1, "b": [2, 3]], "a26161016162820203"), (["aa": 1, "b": 2], "a261620262616101"),
        ] as [(FlagValue, String)]
    )
    func cborIsDeterministic(value: FlagValue, expected: String) {
        let digits = DeterministicCBOR.encode(value).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(digits == expected)
    }

    @Test func theThirdGenerationBucketsByAnyValue() throws {
        func choice(_ value: String) throws -> FlagValue {
            let rule = #"{"fractional": [\#(value), ["a", 1], ["b", 1], ["c", 1], ["d", 1], ["e", 1]]}"#
            return try JsonLogicRule(json: Data(rule.utf8), configuration: FlagConfiguration(fractional: .v3))
                .evaluate(flagKey: "f", context: EvaluationContext(targetingKey: "ada"))
        }
        #expect(try choice("1") == choice("1.0"))
        #expect(try choice("0") == choice("-0.0"))
        #expect(try Set((0..<100).map { try choice("\($0)") }).count == 5)
        for value in ["true", "1.5", "{\"a\": 1, \"b\": 2}"] { #expect(try choice(value) != .null) }
        #expect(try choice("null") == choice(#"{"var": "missing"}"#))
        #expect(try choice("null") != .null)
    }
}
