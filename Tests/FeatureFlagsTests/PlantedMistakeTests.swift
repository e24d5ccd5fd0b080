import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// Typical mistakes, planted one at a time. Of 43 such mistakes the linter once found 23: a timestamp in milliseconds, swapped arguments or a
/// misspelt
/// `targetingkey` were valid rules that simply never matched.
@Suite struct PlantedMistakeTests {
    private static let linter = FlagLinter(configuration: testConfiguration)

    private func findings(_ targeting: String) throws -> [LintFinding] {
        let text = """
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b",
              "targeting": \(targeting)}}}
            """
        return try Self.linter.lint(Data(text.utf8), source: "test.json").findings
    }

    private func rules(_ condition: String) throws -> Set<LintRule> {
        Set(try findings(#"{"if": [\#(condition), "a", "b"]}"#).map(\.rule))
    }

    static let mistakes: [(String, LintRule)] = [
        (#"{">=": [{"var": "$flagd.timestmp"}, 1764547200]}"#, .unknownVariable),
        (#"{"==": [{"var": "$flagd.flagkey"}, "f"]}"#, .unknownVariable),
        (#"{">=": [{"var": "flagd.timestamp"}, 1764547200]}"#, .unknownVariable),
        (#"{"==": [{"var": "targetingkey"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": "targeting_key"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": "TargetingKey"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": "targetKey"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": "targetingKye"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": "user.targetingKey"}, "ada"]}"#, .unknownVariable),
        (#"{"==": [{"var": ""}, "ada"]}"#, .unknownVariable),
        (
            #"{"or": [{"==": [{"var": "app.verison"}, "1"]}, {"==": [{"var": "app.version"}, "2"]}, {"==": [{"var": "app.version"}, "3"]}]}"#,
            .unknownVariable
        ),
        (#"{"reduce": [{"var": "l"}, {"+": [{"var": "curent"}, {"var": "accumulator"}]}, 0]}"#, .unknownVariable),
        (#"{">=": [{"var": "$flagd.timestamp"}, "2026-12-01"]}"#, .timestamp),
        (#"{"<": [{"var": "$flagd.timestamp"}, "2026-12-01T08:30:00Z"]}"#, .timestamp),
        (#"{">=": [{"var": "$flagd.timestamp"}, 1764547200000]}"#, .timestamp),
        (#"{"<=": [1764547200000, {"var": "$flagd.timestamp"}, 1767225600000]}"#, .timestamp),
        (#"{">=": [{"var": "$flagd.timestamp"}, "1764547200000"]}"#, .timestamp),
        (#"{">=": [{"var": "$flagd.timestamp"}, 20261201]}"#, .timestamp),
        (#"{"in": [["ada", "berta"], {"var": "targetingKey"}]}"#, .exchangedArguments),
        (#"{"in": ["ada", {"var": "targetingKey"}]}"#, .exchangedArguments),
        (#"{"in": [{"var": "targetingKey"}, "ada, berta"]}"#, .exchangedArguments),
        (#"{"starts_with": ["team-", {"var": "targetingKey"}]}"#, .exchangedArguments),
        (#"{"ends_with": ["@x.org", {"var": "email"}]}"#, .exchangedArguments),
        (#"{">=": [{"var": "app.version"}, "2.10.0"]}"#, .typeMismatch),
        (#"{"==": [{"var": "beta"}, "true"]}"#, .typeMismatch),
        (#"{"==": [{"var": "plan"}, ["pro", "team"]]}"#, .typeMismatch),
        (#"{"==": [{"var": "email"}, "*@x.org"]}"#, .suspiciousText),
        (#"{"starts_with": [{"var": "email"}, "team-*"]}"#, .suspiciousText),
        (#"{"in": [{"var": "targetingKey"}, ["ada ", "berta"]]}"#, .suspiciousText),
        (#"{"in": [{"var": "targetingKey"}, ["ada", "ada"]]}"#, .duplicateKey),
        (#"{"sem_ver": [{"var": "v"}, ">=", 2.10]}"#, .invalidVersion),
        (#"{"<": [20, {"var": "n"}, 10]}"#, .constantCondition),
        (#"{"<=": [20, {"var": "n"}, 10]}"#, .constantCondition),
        (#"{"starts_with": [{"var": "email"}, ""]}"#, .constantCondition),
        (#"{"and": [{"var": "beta"}, {"var": "beta"}]}"#, .constantCondition),
        (#"{"==": ["targetingKey", "ada"]}"#, .constantCondition),
        (#"{"in": ["targetingKey", ["ada"]]}"#, .constantCondition),
        (#"{"or": [{"!=": [{"var": "plan"}, "x"]}, {"!=": [{"var": "plan"}, "y"]}]}"#, .unreachableBranch),
        (#"{"cat": [{"var": "targetingKey"}, "-"]}"#, .unreachableBranch),
        (#"{"!": {"cat": [{"var": "targetingKey"}, "-"]}}"#, .constantCondition),
        (#"{"some": [[1, 2, 3], {"==": [{"var": ""}, 2]}]}"#, .unreachableBranch),
        (#"{"none": [[], {"==": [{"var": "targetingKey"}, "ada"]}]}"#, .unreachableBranch),
        (#"{"all": [["ada", "berta"], {"==": [{"var": "targetingKey"}, "ada"]}]}"#, .constantCondition),
        (#"{"==": [{"var": "targetingKey"}, "ada", "bob"]}"#, .arguments),
        (#"{"starts_wiht": [{"var": "email"}, "x"]}"#, .unknownOperator),
    ]

    @Test(arguments: mistakes)
    func aMistakeIsSeen(condition: String, rule: LintRule) throws {
        let found = try rules(condition)
        #expect(found.contains(rule), "\(condition): \(found)")
    }

    @Test(arguments: [
        #"{"if": [{"var": "beta"}, "a", "a"]}"#, #"{"if": [{"var": "x"}, "a", {"var": "y"}, "b", "b"]}"#,
        #"{"fractional": [["a", 5], ["a", 95]]}"#,
    ])
    func whatGivesTheSameEitherWayIsSeen(targeting: String) throws {
        #expect(try findings(targeting).map(\.rule) == [.equalBranches])
    }

    /// Each of these is the intended form of a mistake.
    @Test(arguments: [
        #"{">=": [{"var": "$flagd.timestamp"}, 1764547200]}"#, #"{"==": [{"var": "$flagd.flagKey"}, "f"]}"#,
        #"{"==": [{"var": "targetingKey"}, "ada"]}"#, #"{">=": [{"var": "$flagd.timestamp"}, "1764547200"]}"#,
        #"{"<=": [1764547200, {"var": "$flagd.timestamp"}, 1767225600]}"#,
        #"{"in": [{"var": "targetingKey"}, ["ada", "berta"]]}"#, #"{"in": ["@x.org", {"var": "email"}]}"#,
        #"{"in": ["beta", {"var": "groups"}]}"#, #"{"starts_with": [{"var": "targetingKey"}, "team-"]}"#,
        #"{"sem_ver": [{"var": "app.version"}, ">=", "2.10.0"]}"#, #"{"==": [{"var": "beta"}, true]}"#,
        #"{"in": [{"var": "plan"}, ["pro", "team"]]}"#, #"{"<": [10, {"var": "n"}, 20]}"#,
        #"{"and": [{"!=": [{"var": "plan"}, "x"]}, {"!=": [{"var": "plan"}, "y"]}]}"#,
        #"{"or": [{"!=": [{"var": "plan"}, "1"]}, {"!=": [{"var": "plan"}, "1.0"]}]}"#,
        #"{"or": [{"==": [{"var": "v1"}, "1"]}, {"==": [{"var": "v2"}, "2"]}, {"==": [{"var": "v2"}, "3"]}]}"#,
        #"{">=": [{"-": [{"var": "$flagd.timestamp"}, {"var": "since"}]}, 86400]}"#,
        #"{"filter": [{"var": "list"}, {"==": [{"var": "targetingkey"}, 1]}]}"#,
        #"{"cat": [{"var": "first"}, "", {"var": "last"}]}"#,
        #"{"some": [{"var": "groups"}, {"==": [{"var": ""}, "x"]}]}"#,
        #"{"none": [[{"var": "plan"}], {"in": [{"var": ""}, ["pro", "team"]]}]}"#,
    ])
    func whatIsMeantSoIsNot(condition: String) throws {
        let found = try rules(condition)
        #expect(found.isEmpty, "\(condition): \(found)")
    }

    @Test func aDateIsAnsweredWithItsSeconds() throws {
        for (text, seconds) in [
            ("1970-01-01", 0), ("2000-02-29", 951_782_400), ("2000-03-01", 951_868_800), ("2026-12-01", 1_796_083_200),
            ("2026-12-01T08:30", 1_796_113_800), ("2026-12-01 08:30:15", 1_796_113_815), ("2100-03-01", 4_107_542_400),
            ("2026-12-01T08:30:15Z", 1_796_113_815),
        ] {
            #expect(UTCDate.seconds(of: text) == Int64(seconds), "\(text)")
        }
        for text in [
            "", "tomorrow", "2026", "2026-13-01", "2026-12-32", "01.12.2026", "2026-12-01T25:00", "2026-12-01T",
            "-1-1-1",
        ] {
            #expect(UTCDate.seconds(of: text) == nil, "\(text)")
        }
        let finding = try findings(#"{"if": [{">": [{"var": "$flagd.timestamp"}, "2026-12-01"]}, "a", "b"]}"#).first
        #expect(finding?.message.hasSuffix("write 1796083200") == true)
        let milliseconds = try findings(#"{"if": [{">": [{"var": "$flagd.timestamp"}, 1764547200123]}, "a", "b"]}"#)
            .first
        #expect(milliseconds?.message.hasSuffix("write 1764547200") == true)
    }

    @Test func aNameThatDoesNotExistIsAnsweredWithTheNearest() throws {
        for (targeting, question) in [
            (#"{"starts_wiht": [{"var": "x"}, "y"]}"#, #"did you mean "starts_with"?"#),
            (#"{"startsWith": [{"var": "x"}, "y"]}"#, #"did you mean "starts_with"?"#),
            (#"{"if": [{"var": "targetngKey"}, "a", "b"]}"#, #"did you mean "targetingKey"?"#),
            (#"{"if": [{"var": "$flagd.timestmp"}, "a", "b"]}"#, #"did you mean "$flagd.timestamp"?"#),
        ] {
            #expect(try findings(targeting).contains { $0.message.hasSuffix(question) }, "\(targeting)")
        }
        let text = """
            {"flags": {"f": {"state": "ENABLED", "variants": {"sqlite": 1, "lmdb": 2}, "defaultVariant": "sqlit",
              "targetting": {}, "targeting": {"if": [{"$ref": "stafff"}, "lmbd", "sqlite"]}}},
             "$evaluators": {"staff": {"var": "staff"}}}
            """
        let messages = try Self.linter.lint(Data(text.utf8), source: "test.json").findings.map(\.message)
        for name in ["sqlite", "targeting", "staff", "lmdb"] {
            #expect(messages.contains { $0.hasSuffix("did you mean \"\(name)\"?") }, "\(name): \(messages)")
        }
    }
}
