import Foundation
import Testing

@testable import FeatureFlags

/// The scenarios of flagd's testbed that need one flag each: zero values, values without a default, precision, types, edge cases of targeting,
/// versions,
/// operators with bad input, and metadata. The flags are written from their description.
@Suite struct FlagdProviderScenarioTests {
    private static let ballmer: EvaluationContext = EvaluationContext(attributes: ["email": "ballmer@macrosoft.com"])

    private func snapshot(_ variants: String, _ members: String...) throws -> FlagSnapshot {
        let all = [#""state": "ENABLED""#, #""variants": {\#(variants)}"#] + members
        return try makeSnapshot(
            """
            {"flags": {"f": {\(all.joined(separator: ", "))}},
             "$evaluators": {"is_ballmer": {"==": ["ballmer@macrosoft.com", {"var": ["email"]}]}}}
            """
        )
    }

    /// The value of a flag with string variants, whose default is `fallback`.
    private func value(_ targeting: String, _ variants: [String], _ attributes: [String: FlagValue]) throws
        -> EvaluationDetails<String>
    {
        let all = (variants + ["fallback"]).map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")
        return try snapshot(all, #""defaultVariant": "fallback""#, #""targeting": \#(targeting)"#)
            .string("f", default: "wrong", context: EvaluationContext(attributes: attributes))
    }

    @Test(
        arguments: [
            ("false", "true", false), (#""""#, #""str""#, ""), ("0", "1", 0), ("0.0", "1.0", .double(0)),
            ("{}", #"{"showImages": true}"#, .object([:])),
        ] as [(String, String, FlagValue)]
    )
    func aZeroValueIsAValue(zero: String, other: String, expected: FlagValue) throws {
        let variants = #""zero": \#(zero), "non-zero": \#(other)"#
        let fixed = try snapshot(variants, #""defaultVariant": "zero""#).resolve("f")
        #expect(fixed.value == expected)
        #expect(fixed.reason == .static)
        let targeted = try snapshot(
            variants,
            #""defaultVariant": "zero""#,
            #""targeting": {"if": [{"$ref": "is_ballmer"}, "zero"]}"#
        )
        #expect(targeted.resolve("f", context: Self.ballmer).reason == .targetingMatch)
        #expect(targeted.resolve("f", context: Self.ballmer).value == fixed.value)
        let none = EvaluationContext(attributes: ["email": "ballmer@none.com"])
        #expect(targeted.resolve("f", context: none).reason == .default)
        #expect(targeted.resolve("f", context: none).value == fixed.value)
    }

    @Test func withoutADefaultVariantTheCallersDefaultIsServed() throws {
        for fallback in [true, false] {
            let details = try snapshot(#""on": true, "off": false"#, #""defaultVariant": null"#)
                .boolean("f", default: fallback)
            #expect((details.value, details.reason) == (fallback, .default))
        }
        let number = try snapshot(#""small": 10, "big": 1000"#).int("f", default: 100)
        #expect((number.value, number.reason, number.errorCode) == (100, .default, nil))
        for ending in [", null", ""] {
            let flags = try snapshot(
                #""normal": "CFO", "special": "CEO""#,
                #""targeting": {"if": [{"==": ["jobs@orange.com", {"var": ["email"]}]}, "special"\#(ending)]}"#
            )
            let wozniak = EvaluationContext(attributes: ["email": "wozniak@orange.com"])
            let retired = flags.string("f", default: "Retired", context: wozniak)
            #expect((retired.value, retired.reason) == ("Retired", .default))
            let jobs = EvaluationContext(attributes: ["email": "jobs@orange.com"])
            let chief = flags.string("f", default: "Inventor", context: jobs)
            #expect((chief.value, chief.reason) == ("CEO", .targetingMatch))
        }
    }

    @Test func numbersKeepTheirPrecision() throws {
        for number in [2_147_483_647, 9_007_199_254_740_991] as [Int64] {
            let details = try snapshot("\"one\": 1, \"large\": \(number)", #""defaultVariant": "large""#)
                .int("f", default: 1)
            #expect((details.value, details.reason) == (number, .static))
        }
        let whole = try snapshot(#""tenth": 0.1, "ten": 10.0"#, #""defaultVariant": "ten""#).double("f", default: 0.1)
        #expect((whole.value, whole.reason) == (10.0, .static))
    }

    @Test(
        arguments: [
            (#""targeting": {"if": [true, null, "one"]}"#, 2, nil),
            (#""targeting": {"invalid": ["this is not valid targeting"]}"#, 3, .parseError),
            (#""targeting": {"if": [true, "three", "one"]}"#, 3, .general),
            (#""targeting": {}"#, 2, nil), (#""targeting": null"#, 2, nil),
        ] as [(String, Int64, FlagError.Code?)]
    )
    func targetingAtItsEdges(targeting: String, expected: Int64, code: FlagError.Code?) throws {
        let details = try snapshot(#""one": 1, "two": 2"#, #""defaultVariant": "two""#, targeting).int("f", default: 3)
        #expect((details.value, details.errorCode) == (expected, code))
    }

    @Test func aBooleanNamesAVariant() throws {
        let details = try snapshot(
            #""false": 1, "true": 2"#,
            #""defaultVariant": "false""#,
            #""targeting": {"if": [true, true, false]}"#
        ).int("f", default: 3)
        #expect((details.value, details.reason) == (2, .targetingMatch))
    }

    @Test(
        arguments: [
            ("=", "v1.0.0", "1.0.0", true), ("=", "v1.0.0", "v1.0.0", true), ("=", "v1.0.0", "V1.0.0", true),
            ("=", "v1.0.0", "2.0.0", false), ("^", "1", "1.5.0", true), ("^", "1", "1.0.0", true),
            ("^", "1", "1.0", true), ("^", "1", "1", true), ("^", "1", 1, true), ("^", "1", .double(1), true),
            ("^", "1", 1.2, true), ("^", "1", "2.0.0", false), (">", "1.1", 1.2, true), (">", "1.1", 1.1, false),
            (">", "1.1", 2, true), (">", "1.1", 1, false), (">", "1.1", "1.2", true),
            ("=", "1.0.0+build", "1.0.0", true), ("=", "1.0.0+build", "1.0.0+other", true),
            ("=", "1.0.0+build", "2.0.0", false),
        ] as [(String, String, FlagValue, Bool)]
    )
    func versionsAreComparedHoweverTheyAreWritten(
        comparison: String,
        right: String,
        version: FlagValue,
        matches: Bool
    ) throws {
        let targeting =
            #"{"if": [{"sem_ver": [{"var": "version"}, "\#(comparison)", "\#(right)"]}, "match", "no-match"]}"#
        let details = try value(targeting, ["match", "no-match"], ["version": version])
        #expect(details.value == (matches ? "match" : "no-match"))
    }

    /// An operator gives null for invalid input, not false, and the default variant is served.
    @Test(
        arguments: [
            #"{"sem_ver": [{"var": "text"}, "=", "1.0.0"]}"#, #"{"sem_ver": ["1.0.0", "===", "1.0.0"]}"#,
            #"{"sem_ver": ["1.0.0", "="]}"#, #"{"starts_with": [{"var": "num"}, "abc"]}"#,
            #"{"ends_with": [{"var": "num"}, "xyz"]}"#, #"{"starts_with": ["abc"]}"#, #"{"ends_with": ["xyz"]}"#,
            #"{"fractional": [{"var": "missing_key"}, ["true", 50], ["false", 50]]}"#,
            #"{"fractional": [{"var": "text"}, ["true", 0], ["false", 0]]}"#,
        ]
    )
    func badInputServesTheDefaultVariant(targeting: String) throws {
        let details = try value(targeting, ["true", "false"], ["num": 123, "text": "any-user"])
        #expect((details.value, details.reason) == ("fallback", .default))
    }

    @Test func entriesOfAFractionalCanBeOneOrNegativeOrBooleans() throws {
        let user: [String: FlagValue] = ["targetingKey": "some-targeting-key"]
        let single = #"{"fractional": [{"var": "targetingKey"}, ["single", 1]]}"#
        #expect(try value(single, ["single"], user).value == "single")
        let negative = #"{"fractional": [{"var": "targetingKey"}, ["one", -50], ["two", 100]]}"#
        #expect(try value(negative, ["one", "two"], user).value == "two")
        let condition = #"{"if": [{"fractional": [{"var": "targetingKey"}, [false, 100], [true, 0]]}, "big", "small"]}"#
        #expect(try value(condition, ["big", "small"], user).value == "small")
    }

    @Test func aNumberHasNoEnds() throws {
        let targeting = #"""
            {"if": [{"starts_with": [{"var": "id"}, "abc"]}, "prefix",
              {"if": [{"ends_with": [{"var": "id"}, "xyz"]}, "postfix",
                {"if": [{"ends_with": [{"var": "id"}, 3]}, "fail", "none"]}]}]}
            """#
        for id: FlagValue in ["3", 3, "lmnopq"] {
            #expect(try value(targeting, ["prefix", "postfix", "fail", "none"], ["id": id]).value == "none")
        }
    }

    @Test func aFlagsMetadataLiesOverThatOfItsSet() throws {
        let own: [String: FlagValue] = ["string": "a", "integer": 1, "float": 1.2, "boolean": true]
        let flag = #""state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on""#
        let metadata = #""metadata": {"string": "a", "integer": 1, "float": 1.2, "boolean": true}"#
        let alone = try makeSnapshot(#"{"flags": {"m": {\#(flag), \#(metadata)}, "none": {\#(flag)}}}"#)
        #expect(alone.boolean("m", default: false).flagMetadata == own)
        #expect(alone.boolean("none", default: false).flagMetadata.isEmpty)
        let set = try makeSnapshot(
            """
            {"flags": {"m": {\(flag), \(metadata)}, "only-set": {\(flag)}},
             "metadata": {"string": "b", "integer": 2, "float": 2.2, "boolean": false, "flag-set-string": "c",
               "flag-set-integer": 3, "flag-set-float": 3.2, "flag-set-boolean": false}}
            """
        )
        let common: [String: FlagValue] = [
            "flag-set-string": "c", "flag-set-integer": 3, "flag-set-float": 3.2, "flag-set-boolean": false,
        ]
        let ofSet: [String: FlagValue] = ["string": "b", "integer": 2, "float": 2.2, "boolean": false]
        #expect(set.boolean("only-set", default: false).flagMetadata == common.merging(ofSet) { $1 })
        #expect(set.boolean("m", default: false).flagMetadata == common.merging(own) { $1 })
    }
}
