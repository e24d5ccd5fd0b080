import Foundation
import Testing

@testable import FeatureFlags

/// The published vectors of the third generation of `fractional`, for values of all types: 25 buckets of equal weight.
@Suite struct FractionalValueTests {
    private static let rule: String = {
        let buckets = (1...25).map { #"["bucket\#($0)", 1]"# }.joined(separator: ", ")
        return #"{"fractional": [{"var": "hashing_input"}, \#(buckets)]}"#
    }()

    private func bucket(_ value: FlagValue) throws -> FlagValue {
        try JsonLogicRule(json: Data(Self.rule.utf8), configuration: FlagConfiguration(fractional: .v3))
            .evaluate(
                flagKey: "fractional-basic-flag",
                context: EvaluationContext(attributes: ["hashing_input": value])
            )
    }

    @Test(
        arguments: [
            (true, 5), (false, 1), ("user1", 22), ("user2", 16), (123, 20), (456, 12), (1.23, 14), (4.56, 18),
            ("123", 22),
            ("true", 24), ("false", 1), ("null", 8), ("1.23", 4), (0, 8), (.double(1), 23), (1, 23),
            (.double(1.0000000000000001), 23), (.double(-2), 12), (-2, 12), (.double(9_007_199_254_740_992), 10),
            (.double(0), 8), (.double(-0.0), 8), (2_147_483_647, 10), (-2_147_483_648, 8), (23, 21), (24, 11),
            (255, 13),
            (256, 13), (65535, 4), (65536, 11), (-24, 4), (-25, 16), (1e20, 19), (-1e20, 25), (65504.0, 16),
            (-65504.0, 9),
            (0.00006103515625, 22), (0.000000059604644775390625, 23), (65505.0, 17), (-65505.0, 17),
            (3.4028234663852886e+38, 10), (-3.4028234663852886e+38, 3), (1.1754943508222875e-38, 24), (3.5e+38, 1),
            (-3.5e+38, 6), (1.7976931348623157e+308, 17), (-1.7976931348623157e+308, 9), (2.2250738585072014e-308, 11),
            (.double(.leastNonzeroMagnitude), 2), (2_147_483_648, 25), (-2_147_483_649, 18),
            (9_007_199_254_740_991, 2), (9_007_199_254_740_992, 10), (4_294_967_295, 14), (4_294_967_296, 19),
            ("", 4), ("a", 6), ("12345678901234567890123", 4), ("123456789012345678901234", 14),
            (.string(String(repeating: "a", count: 255)), 18), (.string(String(repeating: "a", count: 256)), 7),
            ("あいうえおかき", 17), ("あいうえおかきく", 16), ("ééééééééééé", 16), ("éééééééééééé", 19),
            ("café façade résumé café", 9), (#"A\u0000B"#, 15), (#"e\u0301"#, 7), (#"\uD83D\uDE00"#, 23),
        ] as [(FlagValue, Int)]
    )
    func scalarsHaveTheirBuckets(value: FlagValue, expected: Int) throws {
        #expect(try bucket(value) == .string("bucket\(expected)"))
    }

    @Test(
        arguments: [
            (#"{"a": 1, "b": 2}"#, 23), (#"{"b": 2, "a": 1}"#, 23), (#"{"c": 3, "a": 1, "b": 2}"#, 18),
            (#"{"z": 1, "aa": 2}"#, 21), (#"{"b": 2, "a": {"b": 1}}"#, 9),
            (#"{"c": "text", "bbb": 1, "a": true, "dddd": 2.5}"#, 25), (#"{"aaa": 1, "ÿ": 2}"#, 12),
            (#"{"": 2, "abc": 1}"#, 25), (#"{"key": -0.0}"#, 10), (#"{"key": 0}"#, 10),
            (#"{"c": 0.0, "b": -0.0, "a": {"b": 1}}"#, 8), (#"{"café": "façade", "b": {"résumé": {"ÿ": true}}}"#, 22),
            ("{}", 3), (#"{"a": {}}"#, 20), (#"{"a": {}, "b": []}"#, 7), (#"{"a": []}"#, 12),
            (#"{"a": [1, [], 3], "b": null}"#, 3), (#"{"a": ["a", "b", {}], "b": [1, null, 2]}"#, 23),
            (#"{"a": [1, "two", true, [], null]}"#, 23), (#"{"x": [{"a": 1}, {"b": 2}, {"b": null}]}"#, 3),
            (#"{"x": [{"a": {"b": []}}]}"#, 16), (#"{"x": [{"a": {"b": null}}]}"#, 6),
            (#"{"x": [{"a": {"b": {}}}]}"#, 2),
            (#"{"a": [[[[[]]]]]}"#, 15), (#"{"a": 1, "b": 2, "c": 3}"#, 18), (#"{"aa": 2, "z": 1}"#, 21),
            (#"{"a": {"b": 1}, "b": 2}"#, 9), (#"{"a": true, "bbb": 1, "c": "text", "dddd": 2.5}"#, 25),
            (#"{"ÿ": 2, "aaa": 1}"#, 12), (#"{"key": 0.0}"#, 10), (#"{"b": -0.0, "a": {"b": 1}, "c": 0.0}"#, 8),
            (#"{"b": 2, "a": {}}"#, 20), (#"{"a": {}, "b": {}}"#, 21), (#"{"c": 0.0, "a": []}"#, 18),
            (#"{"c": 0.0, "b": -0.0, "a": {"b": []}}"#, 9),
            // Of two members with the same name, the last one counts.
            (#"{"a": [false, 2.5, ""], "b": [], "c": [{}], "c": null}"#, 15),
            (#"{"": "", "": [], "": {}, "": null}"#, 25),
            (#"{"": {"": ""}, "": ["", {"": ""}], "": {"": {"": ""}}}"#, 11), (#"{"a": [[[[null]]]]}"#, 7),
            (#"{"a": {"b": {"c": {"d": {}}}}}"#, 21), (#"{"a": {"b": {"c": {"d": null}}}}"#, 19),
        ]
    )
    func objectsHaveTheirBuckets(json: String, expected: Int) throws {
        var warnings = FlagWarningList()
        let value = try SourceText(bytes: Array(json.utf8), name: "value").json(warnings: &warnings)
            .flagValue
        #expect(try bucket(value) == .string("bucket\(expected)"))
    }
}
