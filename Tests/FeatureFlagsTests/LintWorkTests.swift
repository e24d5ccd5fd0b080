import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// Short files that expand to long ones: `flags lint`, and `flags set` with its lock on the folder, must still end.
@Suite struct LintWorkTests {
    /// A fiftieth of the normal limit, since tests are not optimized.
    private static let maximumWork = LintWork.maximum / 50

    private static let linter = {
        var linter = FlagLinter(
            stages: [StageOrder(flagKey: "f", values: ["a", "b"])],
            configuration: testConfiguration
        )
        linter.maximumWork = maximumWork
        return linter
    }()

    private func file(_ targeting: String, evaluators: [String]) -> Data {
        Data(
            #"""
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": "a", "b": "b"}, "defaultVariant": "b",
              "targeting": \#(targeting)}},
            "$evaluators": {\#(evaluators.joined(separator: ", "))}}
            """#.utf8
        )
    }

    private func lint(_ file: Data) throws -> LintReport {
        let (report, time) = try withThreadTime {
            let report = try Self.linter.lint(file, source: "test.json", against: file)
            _ = try FlagFileText(bytes: Array(file), source: "test.json").settingDefaultVariant("a", of: "f").lint(
                Self.linter
            )
            return report
        }
        #expect(time < .seconds(60))
        return report
    }

    /// Each of 13 evaluators referred to the next one ten times: 3 kB, and the linter followed 10^12 references. A flag cannot use such an evaluator,
    /// so the
    /// linter reports these references and does not follow them.
    @Test(arguments: ["or", "and", "if", "cat", "+", "in", "!", "fractional", "map", "some"])
    func evaluatorsThatReferToEachOtherAreNotFollowed(name: String) throws {
        let rule = { (index: Int) in
            #"{"\#(name)": [\#(Array(repeating: #"{"$ref": "e\#(index + 1)"}"#, count: 10).joined(separator: ", "))]}"#
        }
        let evaluators = (0..<12).map { #""e\#($0)": \#(rule($0))"# } + [#""e12": {"==": [1, 1]}"#]
        for targeting in [
            #"{"if": [{"$ref": "e0"}, "a", "b"]}"#, rule(-1), #"{"fractional": [{"$ref": "e0"}, ["a", 1]]}"#,
        ] {
            let findings = try lint(file(targeting, evaluators: evaluators)).findings
            let places = findings.filter { $0.rule == .unknownReference }.map(\.location)
            #expect(Set(places).count == 120, "\(targeting)")
            #expect(places.allSatisfy { $0.line == 3 })
        }
    }

    /// An evaluator that referred to itself crashed the process with a stack overflow.
    @Test(arguments: [#"{"or": [{"$ref": "e0"}, {"$ref": "e0"}]}"#, #"{"$ref": "e0"}"#, #"[{"$ref": "e1"}]"#])
    func anEvaluatorThatRefersToItselfIsNotFollowed(rule: String) throws {
        let evaluators = [#""e0": \#(rule)"#, #""e1": {"if": [{"$ref": "e0"}, {"$ref": "e1"}]}"#]
        for targeting in [#"{"if": [{"$ref": "e0"}, "a", {"$ref": "e1"}]}"#, #"{"$ref": "e0"}"#] {
            #expect(
                try lint(file(targeting, evaluators: evaluators)).findings.contains { $0.rule == .unknownReference }
            )
        }
    }

    /// Many rules refer to one list: the loader refuses the file, and the linter stops and reports that.
    @Test func manyReferencesToALongListEnd() throws {
        let list = #""list": [\#((0..<200_000).map { "\"u\($0)\"" }.joined(separator: ", "))]"#
        let conditions = String(repeating: #"{"in": [{"var": "x"}, {"$ref": "list"}]}, "a", "#, count: 2_000)
        let findings = try lint(file(#"{"if": [\#(conditions) "b"]}"#, evaluators: [list])).findings
        #expect(findings.contains { $0.rule == .schema && $0.message.contains("more than 2000000 values") })
        #expect(findings.contains { $0.rule == .unchecked })
    }

    /// Conditions without a variable are evaluated, and each may be the longest possible evaluation.
    @Test func manyLongConditionsEnd() throws {
        let numbers = (0..<300).map(String.init).joined(separator: ",")
        let condition = #"{"none": [[\#(numbers)], {"map": [[\#(numbers)], {"none": [[\#(numbers)], 1]}]}]}"#
        let conditions = Array(repeating: condition + #", "a""#, count: 200).joined(separator: ", ")
        _ = try lint(file(#"{"if": [\#(conditions), "b"]}"#, evaluators: []))
    }

    /// Each unknown name was compared with all existing ones, which were sorted again for each.
    @Test func manyUnknownNamesEnd() throws {
        let names = (0..<5_000).map { "\"evaluator-\($0)\": true" }
        let references = (0..<2_000).map { #"{"$ref": "evalvator-\#($0)"}, "variant-\#($0)""# }.joined(separator: ", ")
        let findings = try lint(file(#"{"if": [\#(references), "b"]}"#, evaluators: names)).findings
        #expect(findings.contains { $0.message.contains("did you mean \"evaluator-") })
    }

    /// Users of many pairs of flags, each with percentages, are tried up to the limit.
    @Test func manyPairsOfFlagsEnd() throws {
        var linter = FlagLinter(stages: [], family: .engines("n0"), configuration: testConfiguration)
        linter.maximumWork = Self.maximumWork
        let share = #"{"fractional": [{"cat": [{"var": "x"}, {"var": "targetingKey"}]}, ["a", 1], ["b", 1]]}"#
        let flags = (0..<200).flatMap { number in
            ["old", "new"].map { ending in
                #""n\#(number)-\#(ending)": {"state": "ENABLED", "variants": {"a": "a", "b": "b"}, "targeting": \#(share)}"#
            }
        }
        let file = Data(#"{"flags": {\#(flags.joined(separator: ", "))}}"#.utf8)
        let findings = try linter.lint(file, source: "test.json", against: file).findings
        #expect(findings.contains { $0.rule == .unchecked })
    }

    @Test func manyConditionsThatAreNeverTrueEnd() throws {
        let conditions = String(repeating: #"{"==": [1, 2]}, "a", "#, count: 9_000)
        let findings = try lint(file(#"{"if": [\#(conditions) "b"]}"#, evaluators: [])).findings
        #expect(findings.count <= 2 * FlagLinter.maximumFindings)
    }
}
