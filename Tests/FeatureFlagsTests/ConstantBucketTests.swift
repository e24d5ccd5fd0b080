import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// A rollout was bucketed by `"targetingKey"`, without its `var`: the linter found nothing, `--against` ended with 0, and raising 5 % to 95 % moved
/// ten of ten users, since all of them were in the single bucket of that text. A bucket that is the same for all users is now an error anywhere,
/// and the flag is quarantined.
@Suite struct ConstantBucketTests {
    private static let shares = #"["a", 5], ["b", 95]"#

    private func file(_ targeting: String, evaluators: String = "{}") -> String {
        """
        {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b",
          "targeting": \(targeting)}}, "$evaluators": \(evaluators)}
        """
    }

    private func findings(_ text: String, _ configuration: FlagConfiguration = testConfiguration) throws
        -> [LintFinding]
    {
        try FlagLinter(configuration: configuration).lint(Data(text.utf8), source: "test.json").findings
    }

    private static let constants = [
        #""targetingKey""#, #""""#, #"{"cat": ["rollout-", "2026"]}"#, #"{"cat": "salt"}"#,
        #"{"var": "$flagd.flagKey"}"#,
        #"{"cat": [{"var": "$flagd.flagKey"}, "x"]}"#,
        #"{"cat": [{"var": "$flagd.flagKey"}, {"var": "$flagd.timestamp"}]}"#,
        #"{"cat": [{"var": "$flagd.nope"}]}"#, #"{"cat": [{"var": "$flagd"}]}"#, #"{"substr": ["targetingKey", 0, 4]}"#,
        #"{"if": [true, "x", {"var": "targetingKey"}]}"#, #"{"if": [false, {"var": "targetingKey"}, "x"]}"#,
        #"{"if": [{"var": "beta"}, "x", "x"]}"#, #"{"or": ["salt", {"var": "targetingKey"}]}"#,
        #"{"and": ["", {"var": "targetingKey"}]}"#, #"{"log": "x"}"#, #"{"$ref": "salt"}"#,
        #"{"cat": {"$ref": "words"}}"#,
        #"{"reduce": [["a", "b"], {"cat": [{"var": "accumulator"}, {"var": "current"}]}, ""]}"#,
        #"{"cat": [{"map": [["a", "b"], {"var": ""}]}]}"#, #"{"fractional": ["x", ["p", 1], ["q", 1]]}"#,
        #"{"cat": [{"var": ["$flagd.nope", "x"]}]}"#,
    ]

    private static let evaluators = #"{"salt": "pepper", "words": ["a", "b"], "id": {"var": "targetingKey"}}"#

    @Test(arguments: constants)
    func whatIsTheSameForEverybodyIsAnErrorAndQuarantinesTheFlag(bucket: String) throws {
        for targeting in [
            #"{"fractional": [\#(bucket), \#(Self.shares)]}"#,
            #"{"if": [{"var": "beta"}, {"fractional": [\#(bucket), \#(Self.shares)]}, "b"]}"#,
        ] {
            let text = file(targeting, evaluators: Self.evaluators)
            let found = try findings(text).filter { $0.rule == .constantBucket }
            #expect(!found.isEmpty, "\(bucket)")
            #expect(found.allSatisfy { $0.severity == .error && $0.message.contains("\"fractional\"") }, "\(bucket)")
            let snapshot = try makeSnapshot(text)
            let error = try #require(snapshot.quarantined["f"], "\(bucket)")
            #expect(error.message == found.first?.message)
            #expect(error.location == found.first?.location)
            for user in ["ada", "berta", "carl"] {
                let resolution = snapshot.resolve("f", context: EvaluationContext(targetingKey: user))
                #expect(resolution.errorCode == .parseError, "\(bucket)")
                #expect(resolution.value == nil)
            }
        }
    }

    private static let dependent = [
        #"{"var": "targetingKey"}"#, #"{"var": "email"}"#, #"{"var": ["email", "none"]}"#, #"{"var": ""}"#,
        #"{"cat": [{"var": "$flagd.flagKey"}, {"var": "targetingKey"}]}"#, #"{"cat": ["salt", {"var": "account.id"}]}"#,
        #"{"if": [{"var": "beta"}, "x", "y"]}"#, #"{"if": [{"var": "beta"}, "x"]}"#,
        #"{"if": [false, "x", {"var": "id"}]}"#,
        #"{"or": ["", {"var": "targetingKey"}]}"#, #"{"and": ["x", {"var": "targetingKey"}]}"#,
        #"{"var": {"cat": ["targeting", "Key"]}}"#, #"{"$ref": "id"}"#,
        #"{"cat": [{"map": [{"var": "groups"}, {"var": ""}]}]}"#,
        #"{"reduce": [["a"], {"cat": [{"var": "accumulator"}, {"var": "current"}]}, {"var": "id"}]}"#,
        // Null is not a bucketing value: the flag's key and the targeting key are used instead.
        "null", #"{"var": "$flagd.nope"}"#,
    ]

    @Test(arguments: dependent)
    func whatDependsOnWhoAsksIsNoError(bucket: String) throws {
        let text = file(#"{"fractional": [\#(bucket), \#(Self.shares)]}"#, evaluators: Self.evaluators)
        #expect(try findings(text).filter { $0.rule == .constantBucket }.isEmpty)
        #expect(try makeSnapshot(text).quarantined.isEmpty)
    }

    /// A bucket that is the targeting key only for one of several flags, or only from some day on, quarantined its flag: the condition was evaluated
    /// for a flag without a key in 1970, and the branch that reads the targeting key was considered unreachable.
    @Test func conditionsOnTheFlagAndTheTimeRuleNoBranchOut() throws {
        for bucket in [
            #"{"if": [{"==": [{"var": "$flagd.flagKey"}, "f"]}, {"var": "targetingKey"}, "x"]}"#,
            #"{"if": [{"<": [{"var": "$flagd.timestamp"}, 1800000000]}, "x", {"var": "targetingKey"}]}"#,
            #"{"and": [{"var": "$flagd.timestamp"}, {"var": "targetingKey"}]}"#,
            #"{"if": [{"$ref": "late"}, {"var": "targetingKey"}, "x"]}"#,
        ] {
            let text = file(
                #"{"fractional": [\#(bucket), \#(Self.shares)]}"#,
                evaluators: #"{"late": {">": [{"var": "$flagd.timestamp"}, 1700000000]}}"#
            )
            #expect(try findings(text).filter { $0.rule == .constantBucket }.isEmpty, "\(bucket)")
            #expect(try makeSnapshot(text).quarantined.isEmpty, "\(bucket)")
        }
    }

    @Test func aListAsTheFirstItemIsAnEntryAndTheTargetingKeyIsBucketedBy() throws {
        for targeting in [
            #"{"fractional": [\#(Self.shares)]}"#, #"{"fractional": [["a"]]}"#, #"{"fractional": {"$ref": "shares"}}"#,
            #"{"fractional": [{"$ref": "first"}, ["b", 95]]}"#,
        ] {
            let text = file(targeting, evaluators: #"{"shares": [["a", 5], ["b", 95]], "first": ["a", 5]}"#)
            #expect(try findings(text).filter { $0.rule == .constantBucket }.isEmpty, "\(targeting)")
            let resolution = try makeSnapshot(text).resolve("f", context: EvaluationContext(targetingKey: "ada"))
            #expect(resolution.reason == .targetingMatch, "\(targeting)")
        }
    }

    @Test func anEvaluatorWithSuchAPercentageQuarantinesTheFlagsThatReferToIt() throws {
        let text = """
            {"flags": {
              "f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "targeting": {"$ref": "share"}},
              "g": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "targeting": {"fractional": {"$ref": "items"}}},
              "h": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "targeting": {"if": [{"var": "x"}, "a"]}}},
             "$evaluators": {"share": {"fractional": ["x", ["a", 1], ["b", 1]]}, "items": ["x", ["a", 1], ["b", 1]]}}
            """
        #expect(try makeSnapshot(text).quarantined.keys.sorted() == ["f", "g"])
        #expect(try findings(text).count { $0.rule == .constantBucket } == 2)
    }

    /// Only the third generation buckets by numbers and booleans; earlier ones give null, which the linter reports.
    @Test func numbersAreBucketsInTheThirdGenerationOnly() throws {
        for bucket in ["7", "true", #"{"+": [1, 2]}"#] {
            let text = file(#"{"fractional": [\#(bucket), \#(Self.shares)]}"#)
            #expect(try findings(text).map(\.rule).contains(.arguments), "\(bucket)")
            let third = FlagConfiguration(fractional: .v3)
            #expect(try findings(text, third).map(\.rule).contains(.constantBucket), "\(bucket)")
            #expect(try makeSnapshot(text).quarantined.isEmpty)
            let snapshot = try FlagSnapshot(json: Data(text.utf8), source: "test.json", configuration: third)
            #expect(snapshot.quarantined.count == 1)
        }
    }

    @Test func theChangeThatWouldMoveEverybodyIsFoundAndRefused() throws {
        let old = file(#"{"fractional": ["targetingKey", ["a", 5], ["b", 95]]}"#)
        let new = old.replacing(#"["a", 5], ["b", 95]"#, with: #"["a", 95], ["b", 5]"#)
        let report = try FlagLinter().lint(Data(new.utf8), source: "test.json", against: Data(old.utf8))
        #expect(report.hasErrors)
        #expect(report.findings.contains { $0.rule == .constantBucket })
        let text = try FlagFileText(bytes: Array(old.utf8), source: "test.json")
        let error = #expect(throws: FlagError.self) {
            _ = try text.settingPercentages([.init(variant: "a", weight: 95), .init(variant: "b", weight: 5)], of: "f")
        }
        #expect(error?.code == .editRefused)
        #expect(error?.message.contains(#"write {"var": "targetingKey"}"#) == true)
        #expect(error?.location.line == 2)
    }

    /// All users to whom an app gives an empty id were in one bucket, and moved together.
    @Test(arguments: FractionalGeneration.allCases)
    func anEmptyTargetingKeyGetsTheDefault(generation: FractionalGeneration) throws {
        let configuration = FlagConfiguration(fractional: generation)
        let snapshot = try FlagSnapshot(
            json: Data(file(#"{"fractional": [["a", 50], ["a", 50]]}"#).utf8),
            source: "test.json",
            configuration: configuration
        )
        for context in [EvaluationContext(targetingKey: ""), EvaluationContext(attributes: ["targetingKey": ""])] {
            let resolution = snapshot.resolve("f", context: context)
            #expect(resolution.reason == .default)
            #expect(resolution.variant == "b")
        }
        #expect(snapshot.resolve("f", context: EvaluationContext(targetingKey: " ")).reason == .targetingMatch)
        let inner = #"{"map": [{"var": "users"}, {"fractional": [["x", 1]]}]}"#
        let users = EvaluationContext(attributes: ["users": [["targetingKey": ""], ["targetingKey": "ada"]]])
        let rule = try JsonLogicRule(json: Data(inner.utf8), configuration: configuration)
        #expect(try rule.evaluate(flagKey: "f", context: users) == [nil, "x"])
    }
}
