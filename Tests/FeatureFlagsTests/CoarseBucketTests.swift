import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// A rollout of 5 % moved all users together, although `flags lint --strict` and `--against` found nothing and `flags set` accepted it: its bucket
/// read the targeting key, as in `{"substr": [{"var": "targetingKey"}, 0, 0]}`, but gave the same text for all users. Only buckets that read
/// nothing from the context were found. Now a bucket is evaluated for sample users.
@Suite struct CoarseBucketTests {
    private static let key = #"{"var": "targetingKey"}"#

    private func file(_ bucket: String, _ weights: (Int, Int) = (5, 95)) -> String {
        """
        {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b",
          "targeting": {"fractional": [\(bucket), ["a", \(weights.0)], ["b", \(weights.1)]]}}},
         "$evaluators": {"id": {"var": "targetingKey"}, "nothing": {"substr": [{"var": "targetingKey"}, 0, 0]}}}
        """
    }

    private func findings(_ text: String, against old: String? = nil) throws -> [LintFinding] {
        try FlagLinter(configuration: testConfiguration)
            .lint(Data(text.utf8), source: "test.json", against: old.map { Data($0.utf8) })
            .findings.filter { $0.rule == .constantBucket }
    }

    private func refusal(_ text: String) throws -> FlagError? {
        let file = try FlagFileText(bytes: Array(text.utf8), source: "test.json")
        do throws(FlagError) {
            _ = try file.settingPercentages(
                [.init(variant: "a", weight: 10), .init(variant: "b", weight: 90)],
                of: "f"
            )
            return nil
        } catch {
            return error
        }
    }

    private static let certain = [
        #"{"substr": [\#(key), 0, 0]}"#, #"{"substr": [\#(key), 300]}"#, #"{"if": [\#(key), "a", "b"]}"#,
        #"{"and": [\#(key), "a4"]}"#, #"{"cat": [{"!": \#(key)}, "2"]}"#, #"{"cat": {"!!": [\#(key)]}}"#,
        #"{"cat": ["x", {"substr": [\#(key), 0, 0]}, {"var": "$flagd.flagKey"}]}"#, #"{"$ref": "nothing"}"#,
    ]

    @Test(arguments: certain)
    func aBucketThatComesToOneValueQuarantinesTheFlag(bucket: String) throws {
        let text = file(bucket)
        let found = try findings(text)
        #expect(found.count == 1, "\(bucket)")
        #expect(found.first?.severity == .error)
        #expect(try findings(text, against: file(Self.key)).count == 1)
        let snapshot = try makeSnapshot(text)
        let error = try #require(snapshot.quarantined["f"], "\(bucket)")
        #expect(error.location == found.first?.location)
        #expect(error.message.contains("everybody gets one variant"))
        for user in ["ada", "berta", "4711"] {
            #expect(snapshot.resolve("f", context: EvaluationContext(targetingKey: user)).value == nil)
        }
        let refused = try refusal(text)
        #expect(refused?.code == .editRefused, "\(bucket)")
    }

    /// The flag is still evaluated: an untried kind of key might give different buckets, or an attribute might be present.
    private static let coarse = [
        #"{"substr": [\#(key), 100]}"#, #"{"cat": [{"filter": [[\#(key)], false]}]}"#,
        #"{"cat": ["q", {"missing": ["a"]}]}"#, #"{"cat": {"missing": ["a", "b"]}}"#,
        #"{"cat": [{"in": ["a", \#(key)]}]}"#, #"{"cat": ["x", {"==": [\#(key), "ada"]}]}"#,
        #"{"cat": {"some": [[\#(key)], {"==": [{"var": ""}, "ada"]}]}}"#, #"{"cat": {"*": [\#(key), 0]}}"#,
        #"{"cat": {"sem_ver": [\#(key), ">=", "1.0.0"]}}"#, #"{"substr": [{"var": "email"}, 0, 0]}"#,
        #"{"cat": [{"substr": [{"var": "account.id"}, 300]}, "x"]}"#, #"{"fractional": [["p", 1], ["q", 1]]}"#,
        #"{"if": [{"starts_with": [\#(key), "a"]}, "early", "late"]}"#,
    ]

    @Test(arguments: coarse)
    func aBucketOfAHandfulOfValuesIsAnErrorAndNoMore(bucket: String) throws {
        let text = file(bucket)
        let found = try findings(text)
        #expect(found.count == 1, "\(bucket)")
        #expect(found.first?.severity == .error)
        #expect(found.first?.message.contains("sample users") == true)
        #expect(try makeSnapshot(text).quarantined.isEmpty, "\(bucket)")
        let refused = try refusal(text)
        #expect(refused?.code == .editRefused, "\(bucket)")
    }

    /// A bucket that tells users of one kind apart is right for an app with such users, and an attribute is the author's choice.
    private static let fine = [
        key, #"{"$ref": "id"}"#, #"{"cat": [{"var": "$flagd.flagKey"}, \#(key)]}"#, #"{"substr": [\#(key), 0, 1]}"#,
        #"{"substr": [\#(key), -1]}"#, #"{"substr": [\#(key), 24]}"#, #"{"substr": [\#(key), 10, 1]}"#,
        #"{"cat": {"%": [\#(key), 100]}}"#, #"{"cat": {"+": [\#(key)]}}"#,
        #"{"if": [{"ends_with": [\#(key), "@corp.example"]}, \#(key), "guest"]}"#,
        #"{"if": [{"starts_with": [\#(key), "team-"]}, \#(key), "others"]}"#,
        #"{"var": "country"}"#, #"{"var": "tenant.id"}"#, #"{"cat": ["salt", {"var": "plan"}]}"#,
        #"{"substr": [{"var": "locale"}, 0, 2]}"#, #"{"cat": [{"var": "a"}, {"var": "a.b"}]}"#,
        #"{"if": [{"var": "beta"}, "x", "y"]}"#, #"{"if": [{"==": [{"var": "country"}, "DE"]}, "de", "others"]}"#,
        #"{"cat": {"in": [{"var": "plan"}, ["pro", "team"]]}}"#, #"{"var": ["tenant", "none"]}"#,
        #"{"and": [\#(key), null]}"#, #"{"var": ""}"#,
    ]

    @Test(arguments: fine)
    func aBucketThatCanTellUsersApartIsClean(bucket: String) throws {
        let text = file(bucket)
        #expect(try findings(text).isEmpty, "\(bucket)")
        #expect(try makeSnapshot(text).quarantined.isEmpty, "\(bucket)")
        #expect(try refusal(text) == nil, "\(bucket)")
    }

    /// Loading a file of many percentages takes work in proportion to its size: two users are enough to see that a bucket tells them apart, and a
    /// rule that is
    /// large, or too much work, is not judged.
    @Test func theWorkOfLoadingStaysInProportionToTheFile() throws {
        func work(_ bucket: String, flags: Int) throws -> (Int, bytes: Int) {
            let flag =
                #"{"state": "ENABLED", "variants": {"a": 1}, "targeting": {"fractional": [\#(bucket), ["a", 1]]}}"#
            let text = #"{"flags": {"# + (0..<flags).map { #""f\#($0)": \#(flag)"# }.joined(separator: ",") + "}}"
            let meter = WorkMeter()
            try WorkMeter.$current.withValue(meter) { _ = try makeSnapshot(text) }
            return (meter.total, text.utf8.count)
        }
        let numbers = (0..<20).map(String.init).joined(separator: ",")
        let product =
            #"{"cat": {"map": [[\#(numbers)], {"map": [[\#(numbers)], {"cat": [{"var": "targetingKey"}]}]}]}}"#
        let large = #"{"cat": ["# + Array(repeating: Self.key, count: 200).joined(separator: ",") + "]}"
        let long = #"{"substr": [{"cat": ["\#(String(repeating: "x", count: 5_000))", \#(Self.key)]}, 0, 0]}"#
        for bucket in [Self.key, product, large, long] {
            let (steps, bytes) = try work(bucket, flags: 100)
            #expect(steps < 2 * bytes, "\(bucket.prefix(40)): \(steps) for \(bytes)")
        }
        for bucket in Self.certain.dropLast() {
            let (steps, _) = try work(bucket, flags: 100)
            #expect(steps < 100 * 2_000, "\(bucket): \(steps)")
        }
    }
}
