import Foundation
import Testing

@testable import FeatureFlags

/// The article about differences from a flagd server is correct.
@Suite struct FlagdDifferencesTests {
    private struct Row {
        let rule: String
        let here: String
        let there: String
    }

    private func rows() throws -> [Row] {
        let article = repositoryRoot.appendingPathComponent(
            "Sources/FeatureFlags/Documentation.docc/FlagdDifferences.md"
        )
        return try String(contentsOf: article, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| `{"), cells.count == 4 else { return nil }
            let texts = cells.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "`")) }
            return Row(rule: texts[0], here: texts[1], there: texts[2])
        }
    }

    private func value(_ text: String) throws -> FlagValue {
        switch text {
        case "NaN": return .double(.nan)
        case "-Infinity": return .double(-.infinity)
        default: return try JsonLogicRule(json: Data(text.utf8)).evaluate(.null)
        }
    }

    @Test func eachRuleGivesWhatTheArticleSays() throws {
        let rows = try rows()
        #expect(rows.count > 40)
        for row in rows {
            let result = try JsonLogicRule(json: Data(row.rule.utf8)).evaluate(.null)
            let expected = try value(row.here)
            #expect("\(result)" == "\(expected)", "\(row.rule) gives \(result) and not \(row.here)")
            #expect(row.here != row.there, "\(row.rule)")
        }
    }

    @Test func theFlagsOfTheArticleAnswerAsItSays() throws {
        let snapshot = try makeSnapshot(
            """
            {"flags": {
              "good": {"state": "ENABLED", "variants": {"a": 1}, "defaultVariant": "a"},
              "default": {"state": "ENABLED", "variants": {"a": 1}, "defaultVariant": "b"},
              "constant": {"state": "ENABLED", "variants": {"a": 1, "b": 2}, "targeting": {"fractional": ["x", ["a"], ["b"]]}},
              "operator": {"state": "ENABLED", "variants": {"a": 1}, "targeting": {"iff": [true, "a"]}},
              "number": {"state": "ENABLED", "variants": {"5": 1}, "targeting": {"if": [{"var": "x"}, 7, 5]}},
              "fraction": {"state": "ENABLED", "variants": {"a": 3.14}, "defaultVariant": "a"},
              "gone": {"state": "DISABLED", "variants": {"a": 1}, "defaultVariant": "a"}}}
            """
        )
        #expect(snapshot.quarantined.keys.sorted() == ["constant", "default", "operator"])
        #expect(snapshot.int("good", default: 0).value == 1)
        #expect(snapshot.resolve("number").errorCode == .general)
        #expect(snapshot.int("fraction", default: 0).errorCode == .typeMismatch)
        #expect(snapshot.resolveAll(context: EvaluationContext())["gone"]?.reason == .disabled)
        #expect(FlagLimits.evaluationWork == 100_000)
        #expect(FlagLimits.fileSizeBytes == 16 << 20)
        #expect(FlagLimits.yamlSizeBytes == 1 << 20)
        #expect(FlagLimits.yamlAliases == 16)
    }
}
