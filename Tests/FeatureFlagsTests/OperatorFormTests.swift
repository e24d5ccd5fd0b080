import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// `{"==": [{"var": "targetingKey"}, "ada", "bob"]}` matches only ada, and nothing reported bob. The counts here are those of flagd's schema of
/// rules,
/// written down independently of the linter's own table.
@Suite struct OperatorFormTests {
    private static let linter = FlagLinter(configuration: testConfiguration)

    /// The findings in a rule that is used as a condition, on line 2.
    private func findings(_ rule: String) throws -> [LintFinding] {
        let text = """
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b", "targeting": {"if": [
            \(rule), "a", "b"]}}}}
            """
        return try Self.linter.lint(Data(text.utf8), source: "test.json").findings
    }

    struct Counts: Sendable, CustomTestStringConvertible {
        let name: String
        let allowed: ClosedRange<Int>
        let words: String

        init(_ name: String, _ allowed: ClosedRange<Int>, _ words: String) {
            self.name = name
            self.allowed = allowed
            self.words = words
        }

        var testDescription: String { name }
    }

    private static let exactlyTwo = [
        "==", "!=", "===", "!==", ">", ">=", "%", "/", "in", "map", "filter", "all", "some", "none", "missing_some",
        "starts_with", "ends_with",
    ]

    static let table =
        exactlyTwo.map { Counts($0, 2...2, "exactly 2 arguments") }
        + ["!", "!!", "log"].map { Counts($0, 1...1, "exactly 1 argument,") }
        + ["reduce", "sem_ver", "?:"].map { Counts($0, 3...3, "exactly 3 arguments") }
        + ["<", "<=", "substr"].map { Counts($0, 2...3, "2 or 3 arguments") }
        + ["var", "-"].map { Counts($0, 1...2, "1 or 2 arguments") }
        + ["if", "and", "or", "+", "max", "min", "merge", "cat"].map { Counts($0, 1...99, "at least 1 argument,") }
        + [Counts("*", 2...99, "at least 2 arguments")]

    @Test func theTableHasEveryOperator() {
        let others: Set<String> = ["fractional", "missing"]
        #expect(Set(Self.table.map(\.name)).union(others) == Set(OperatorTable.names))
    }

    @Test(arguments: table)
    func aCountThatIsNotReadAsItLooksIsAnError(counts: Counts) throws {
        for count in 0...6 {
            let arguments = (0..<count).map { #"{"var": "x\#($0)"}"# }
            let found = try findings(#"{"\#(counts.name)": [\#(arguments.joined(separator: ", "))]}"#)
            let told = found.filter { $0.rule == .arguments && $0.severity == .error && $0.message.contains("takes") }
            if counts.allowed.contains(count) {
                #expect(told.isEmpty, "\(counts.name) with \(count): \(told)")
                continue
            }
            let finding = try #require(told.first, "\(counts.name) with \(count)")
            #expect(finding.message.hasPrefix("\"\(counts.name)\" takes \(counts.words)"), "\(finding)")
            #expect(finding.message.contains(count == 0 ? "none" : count == 1 ? "one stands" : "\(count) stand"))
            #expect(finding.location.line == 2)
            // With too many arguments, the location is that of the first one that is not read.
            let place =
                count > counts.allowed.upperBound
                ? arguments[..<counts.allowed.upperBound].reduce(counts.name.count + 7) { $0 + $1.count + 2 } : 2
            #expect(finding.location.column == place, "\(counts.name) with \(count): \(finding)")
        }
    }

    @Test func anItemTooManyInAnEntryIsAnError() throws {
        let found = try findings(#"{"fractional": [["a", 10, 20], ["b", 90]]}"#)
        #expect(found.contains { $0.rule == .arguments && $0.severity == .error && $0.message.contains("3 items") })
        #expect(try !findings(#"{"fractional": [["a", 10], ["b", 90]]}"#).contains { $0.rule == .arguments })
    }

    /// Forms that work here and are refused by the schema, which editors and servers use to check files.
    @Test(arguments: [
        #"{"==": 5}"#, #"{"in": "x"}"#, #"{"and": {"var": "x"}}"#, #"{"+": "3"}"#, #"{"max": 1}"#, #"{"cat": "x"}"#,
        #"{"merge": {"var": "x"}}"#, #"{"if": true}"#, #"{"missing": "x"}"#, #"{"missing": [1]}"#,
        #"{"missing": [{"var": "x"}]}"#, #"{"missing": {"merge": ["a"]}}"#, #"{"missing_some": ["1", ["x"]]}"#,
        #"{"missing_some": [{"var": "n"}, ["x"]]}"#, #"{"missing_some": [1, "x"]}"#,
        #"{"missing_some": [1, {"var": "x"}]}"#,
        #"{"?:": [{"var": "x"}, true, false]}"#, #"{"log": {"var": "x"}}"#,
        #"{"==": [{"var": "x"}, {"a": 1, "b": 2}]}"#,
        #"{"==": [{"var": "x"}, {}]}"#, #"{"var": ["$flagd.nope", 1]}"#, #"{"var": "$flagd.timestmp"}"#,
        #"{"var": [{"cat": ["a", "b"]}]}"#, #"{"map": [{"var": "l"}, {"var": "$flagd.nope"}]}"#,
        #"{"sem_ver": [{"var": "v"}, ">=", 2]}"#, #"{"sem_ver": [{"var": "v"}, ">=", "1.2"]}"#,
        #"{"sem_ver": [{"var": "v"}, ">=", "v1.2.3"]}"#, #"{"sem_ver": [{"var": "v"}, {"var": "o"}, "1.2.3"]}"#,
        #"{"sem_ver": [{"cat": ["1.", {"var": "v"}]}, ">=", "1.2.3"]}"#, #"{"fractional": [null, ["a", 1], ["b", 1]]}"#,
        #"{"fractional": [{"var": "x"}, ["a", 1.5], ["b", 1]]}"#,
        #"{"fractional": [{"var": "x"}, ["a", -1], ["b", 1]]}"#,
        #"{"fractional": [{"var": "x"}, [], ["b", 1]]}"#, #"{"fractional": [{"var": "x"}, "a", ["b", 1]]}"#,
    ])
    func whatTheSchemaRefusesIsTold(rule: String) throws {
        #expect(try !findings(rule).isEmpty, "\(rule)")
    }

    @Test(arguments: [
        #"{"==": [{"var": "x"}, 5]}"#, #"{"!": {"var": "x"}}"#, #"{"!!": [{"var": "x"}]}"#, #"{"var": ["x", 1]}"#,
        #"{"<": [1, {"var": "x"}, 9]}"#, #"{"substr": [{"var": "x"}, 1]}"#, #"{"-": [{"var": "x"}]}"#,
        #"{"+": [{"var": "x"}]}"#, #"{"missing": ["a", "b"]}"#, #"{"missing_some": [1, ["a", "b"]]}"#,
        #"{"reduce": [{"var": "l"}, {"+": [{"var": "current"}, {"var": "accumulator"}]}, 0]}"#,
        #"{"map": [{"var": "l"}, {"var": ""}]}"#, #"{"sem_ver": [{"var": "v"}, "^", "1.2.3-rc.1"]}"#,
        #"{"fractional": [{"var": "x"}, ["a", 1], ["b"]]}"#, #"{"in": ["@x.org", {"var": "email"}]}"#,
    ])
    func whatTheSchemaTakesIsNot(rule: String) throws {
        let found = try findings(rule)
        #expect(found.isEmpty, "\(rule): \(found)")
    }
}
