import Foundation
import JSONText
import Testing

@testable import FeatureFlags

/// JsonLogic as defined by jsonlogic.com, and, where it says nothing, as implemented by json-logic-js.
@Suite struct JsonLogicTests {
    private static func cases() throws -> [(rule: JSONNode, data: FlagValue, expected: FlagValue)] {
        let source = try SourceText(bytes: Array(jsonLogicTable.utf8), name: "table")
        var warnings = FlagWarningList()
        guard case .array(let entries) = try source.json(warnings: &warnings).value else { return [] }
        return entries.compactMap { entry in
            guard case .array(let parts) = entry.value, parts.count == 3 else { return nil }
            return (parts[0], parts[1].flagValue, parts[2].flagValue)
        }
    }

    @Test func thePublishedTableHolds() throws {
        let text = Array(jsonLogicTable.utf8)
        let cases = try Self.cases()
        #expect(cases.count > 320)
        for (rule, data, expected) in cases {
            let json = String(decoding: text[rule.range], as: UTF8.self)
            let value = try JsonLogicRule(json: Data(json.utf8)).evaluate(data)
            #expect(value.isSame(as: expected), "\(json) on \(data): \(value) instead of \(expected)")
        }
    }

    private func value(_ rule: String, _ data: FlagValue = .null) throws -> FlagValue {
        try JsonLogicRule(json: Data(rule.utf8)).evaluate(data)
    }

    /// The results of running json-logic-js.
    @Test(
        arguments: [
            (#"{"===": []}"#, true), (#"{"===": [null]}"#, false), (#"{"!==": [null]}"#, true),
            (#"{"<": [1]}"#, false), (#"{"<=": [0]}"#, false), (#"{">=": []}"#, false), (#"{"<": []}"#, false),
            (#"{"<": ["10", "9"]}"#, true), (#"{"<": ["10", 9]}"#, false), (#"{"<": ["a", 1]}"#, false),
            (#"{">": ["a", 1]}"#, false), (#"{"<=": [null, 0]}"#, true), (#"{">=": [null, 0]}"#, true),
            (#"{"<": [[1], [2]]}"#, true), (#"{"<": [[10], [9]]}"#, true), (#"{"<": [false, true]}"#, true),
            (#"{"<": ["\uffff", "\ud83d\ude00"]}"#, false), (#"{"<": ["\ud83d\ude00", "\uffff"]}"#, true),
            (#"{"<": ["e", "é"]}"#, true), (#"{"<=": ["a", "a", "b"]}"#, true), (#"{">": [3, 2, 5]}"#, true),
            (#"{"<": [1, 2, null]}"#, false), (#"{"<": [{"a": 1, "b": 2}, 1]}"#, false),
            (#"{"+": []}"#, 0), (#"{"+": ["3.14abc"]}"#, 3.14), (#"{"+": [" 1e2 ", "1"]}"#, 101),
            (#"{"+": [[5, 6]]}"#, 5), (#"{"+": ["-Infinityx"]}"#, .double(-.infinity)),
            (#"{"+": [9223372036854775807, 1]}"#, 9.223372036854775807e18), (#"{"+": [0.1, 0.2]}"#, .double(0.1 + 0.2)),
            (#"{"+": ["1e", "0x10", "."]}"#, .double(.nan)), (#"{"+": ["1e"]}"#, 1), (#"{"+": ["0x10"]}"#, 0),
            (#"{"+": [null]}"#, .double(.nan)), (#"{"+": [true]}"#, .double(.nan)), (#"{"+": [""]}"#, .double(.nan)),
            (#"{"*": ["2"]}"#, "2"), (#"{"*": []}"#, .null), (#"{"*": ["2x", 3]}"#, 6), (#"{"*": [0.5, 4]}"#, 2),
            (#"{"*": [2, null]}"#, .double(.nan)), (#"{"-": []}"#, .double(.nan)), (#"{"-": ["4"]}"#, -4),
            (#"{"-": [true]}"#, -1), (#"{"-": [null, 1]}"#, -1), (#"{"-": ["1x", 1]}"#, .double(.nan)),
            (#"{"/": [1, 0]}"#, .double(.infinity)), (#"{"/": [0, 0]}"#, .double(.nan)),
            (#"{"/": [1]}"#, .double(.nan)),
            (#"{"%": [-5, 3]}"#, -2), (#"{"%": [5, -3]}"#, 2), (#"{"%": [5.5, 2]}"#, 1.5),
            (#"{"%": [5, 0]}"#, .double(.nan)),
            (#"{"%": [-9223372036854775808, -1]}"#, .double(-0.0)),
            (#"{"max": []}"#, .double(-.infinity)), (#"{"min": []}"#, .double(.infinity)), (#"{"max": ["2", 10]}"#, 10),
            (#"{"max": ["x", 1]}"#, .double(.nan)), (#"{"max": [[1, 2]]}"#, .double(.nan)), (#"{"min": [null, 1]}"#, 0),
            (#"{"max": 1}"#, 1), (#"{"min": [1.5, true]}"#, 1),
            (#"{"cat": []}"#, ""), (#"{"cat": [null, "a"]}"#, "a"), (#"{"cat": [[1, [2, null]], "a"]}"#, "1,2,a"),
            (#"{"cat": [1.0, true, {"a": 1, "b": 2}]}"#, "1true[object Object]"),
            (#"{"substr": []}"#, "undefined"), (#"{"substr": [12345, 2]}"#, "345"), (#"{"substr": ["abc"]}"#, "abc"),
            (#"{"substr": ["abc", "1"]}"#, "bc"), (#"{"substr": ["abc", -9, 2]}"#, "ab"),
            (#"{"substr": ["abc", 9]}"#, ""),
            (#"{"substr": ["abc", 1, null]}"#, ""), (#"{"substr": ["abc", 0, -9]}"#, ""),
            (#"{"substr": ["abc", 1.9, 1.9]}"#, "b"),
            (#"{"substr": ["aäöb", 1, 2]}"#, "äö"), (#"{"substr": ["a😀b", 3]}"#, "b"),
            (#"{"substr": ["abc", "x"]}"#, "abc"),
            (#"{"substr": ["abc", -9223372036854775808, 9223372036854775807]}"#, "abc"),
            (#"{"map": [1, 2]}"#, []), (#"{"map": [[1, 2]]}"#, [.null, .null]), (#"{"filter": [[1, 2]]}"#, []),
            (#"{"reduce": [[1], {"var": "other"}, 5]}"#, .null), (#"{"reduce": [5, 1]}"#, .null),
            (#"{"reduce": [[1], {"var": ""}, 5]}"#, ["current": 1, "accumulator": 5]),
            (#"{"all": [1, true]}"#, false), (#"{"none": [1, true]}"#, true), (#"{"some": ["x", true]}"#, false),
            (#"{"missing": ["a", ["b"]]}"#, ["a", ["b"]]), (#"{"missing": [["a", "b"], "c"]}"#, ["a", "b"]),
            (#"{"missing_some": [1, "a"]}"#, ["a"]), (#"{"missing_some": ["0", ["a"]]}"#, []),
            (#"{"missing_some": []}"#, []), (#"{"merge": [null, [1]]}"#, [.null, 1]), (#"{"log": [1, 2]}"#, 1),
            (#"{"!!": []}"#, false), (#"{"!!": [[0]]}"#, true), (#"{"!!": [{}]}"#, true),
            (#"{"?:": [false, 1, true, 2]}"#, 2),
        ] as [(String, FlagValue)]
    )
    func edgesAreThoseOfJavaScript(rule: String, expected: FlagValue) throws {
        let value = try value(rule)
        #expect(value.isSame(as: expected), "\(value)")
    }

    @Test func elementsTakeTheContextsPlace() throws {
        let context = EvaluationContext(targetingKey: "ada", attributes: ["list": [1, 2], "x": 5])
        #expect(try evaluate(#"{"map": [{"var": "list"}, {"var": "x"}]}"#, context) == [.null, .null])
        #expect(try evaluate(#"{"map": [{"var": "list"}, {"var": "$flagd.flagKey"}]}"#, context) == [.null, .null])
        // After the list, the context is back.
        let rule = #"{"cat": [{"map": [{"var": "list"}, {"var": ""}]}, {"var": "x"}, {"var": "targetingKey"}]}"#
        #expect(try evaluate(rule, context) == "1,25ada")
        #expect(
            try evaluate(#"{"cat": [{"some": [{"var": "list"}, {"var": ""}]}, {"var": "x"}]}"#, context) == "true5"
        )
    }

    @Test func numbersInTextsAreReadAsJavaScriptReadsThem() {
        for text in ["\u{FEFF}1", "1\u{A0}", "\u{2003}1\u{3000}", "\u{1680}1\u{2029}", "+1", "01", "1.", "1.0e0"] {
            #expect(JavaScriptNumber(parsing: text).map { $0 == .int(1) } == true, "\(text.debugDescription)")
        }
        for text in ["1\u{200B}", "1_0", "１", "1,0", "--1", "+-1", "1e", "e1", ".", "+", "Infinity1", "inf", "0x"] {
            #expect(JavaScriptNumber(parsing: text) == nil, "\(text.debugDescription)")
        }
        let negativeZero = JavaScriptNumber(parsing: "-0")?.double
        #expect(negativeZero == 0 && negativeZero?.sign == .minus)
        #expect(JavaScriptNumber(parsing: "0xffffffffffffffff")?.double == 0x1p64)
        #expect(JavaScriptNumber(parsing: "123456789012345678901")?.double == 123_456_789_012_345_683_968)
    }
}

extension FlagValue {
    /// Whether the values are equal; `1` equals `1.0`, and NaN equals NaN.
    fileprivate func isSame(as other: FlagValue) -> Bool {
        switch (self, other) {
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { right[$0.key]?.isSame(as: $0.value) ?? false }
        case (.double(let left), .double(let right)) where left.isNaN: right.isNaN
        default: isStrictlyEqual(to: other)
        }
    }
}
