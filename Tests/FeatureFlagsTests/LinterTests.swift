import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// The linter's findings, by the stable names of its rules.
@Suite struct LinterTests {
    private static let stages = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]
    private static let linter = FlagLinter(
        stages: [StageOrder(flagKey: "stage", values: stages)],
        configuration: FlagConfiguration(killFlags: ["kill"], clock: { 1_700_000_000 })
    )

    private func lint(_ json: String, against old: String? = nil) throws -> [LintFinding] {
        try Self.linter.lint(Data(json.utf8), source: "test.json", against: old.map { Data($0.utf8) }).findings
    }

    /// The rules found in a flag `f` with the string variants `a` and `b`, default `b`.
    private func rules(_ targeting: String, evaluators: String = "{}") throws -> [String] {
        let findings = try lint(
            """
            {"flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b",
              "targeting": \(targeting)}}, "$evaluators": \(evaluators)}
            """
        )
        return findings.map(\.rule.rawValue)
    }

    private func stageFile(_ targeting: String?, defaultVariant: String = "off") -> String {
        let variants = Self.stages.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
        return """
            {"flags": {"stage": {"state": "ENABLED", "variants": {\(variants)}, "defaultVariant": "\(defaultVariant)"
            \(targeting.map { ", \"targeting\": " + $0 } ?? "")}}}
            """
    }

    private func jumps(_ targeting: String?, _ defaultVariant: String = "off", against old: String? = nil) throws -> Int
    {
        try lint(stageFile(targeting, defaultVariant: defaultVariant), against: old).count { $0.rule == .stageJump }
    }

    @Test func aCleanFileHasNoFindings() throws {
        #expect(
            try rules(
                """
                {"if": [{"in": [{"var": "targetingKey"}, ["ada"]]}, "a",
                  {"sem_ver": [{"var": "app.version"}, ">=", "2.1.0"]}, "a",
                  {"and": [{">=": [{"var": "$flagd.timestamp"}, 1764547200]}, {"<": [{"var": "$flagd.timestamp"}, 1767225600]}]}, "a",
                  {"$ref": "mail"}, "a",
                  {"fractional": [{"cat": [{"var": "$flagd.flagKey"}, {"var": "email"}]}, ["a", 10], ["b", 90]]}]}
                """,
                evaluators: #"{"mail": {"ends_with": [{"var": "email"}, "@x.org"]}}"#
            ).isEmpty
        )
    }

    @Test(arguments: [
        (#"{"if": [{"var": "x"}, "c", "b"]}"#, ["unknown-variant"]),
        // flagd's schema refuses these, and the linter reported nothing.
        ("null", ["schema"]),
        (#"{"fractional": [["a", null], ["b", 1]]}"#, ["arguments"]),
        (#"{"fractional": [["a", 50], ["c", 50]]}"#, ["unknown-variant"]),
        (#"{"==": [{"var": "x"}, 1]}"#, ["unknown-variant"]),
        (#"{"if": [{"var": "x"}, 5, "b"]}"#, ["unknown-variant"]),
        (#"{"+": [1, 2]}"#, ["unknown-variant"]),
        (#"{"fractional": [["a", 0], ["b", 0]]}"#, ["weights", "never-matches"]),
        (#"{"fractional": [["a", 1.5], ["b", 1]]}"#, ["weights", "never-matches"]),
        (#"{"fractional": [["a", "1"], ["b", 1]]}"#, ["weights", "never-matches"]),
        (#"{"fractional": [["a", -1], ["b", 1]]}"#, ["weights"]),
        (#"{"fractional": [["a", 2147483647], ["b", 1]]}"#, ["weights"]),
        (#"{"fractional": ["a", "b"]}"#, ["constant-bucket", "weights", "never-matches"]),
        (#"{"fractional": []}"#, ["weights", "never-matches"]),
        (#"{"fractional": [["a", 10], ["b", 80]]}"#, ["percentages"]),
        (#"{"fractional": [["a", 20]]}"#, ["percentages"]),
        (#"{"fractional": [["a", 1], ["b", 1]]}"#, []),
        (#"{"fractional": [["a", 5], ["b", 995]]}"#, []),
        (#"{"if": [{"in": [{"var": "x"}, []]}, "a", "b"]}"#, ["empty-list"]),
        (#"{"if": [{"in": [{"var": "targetingKey"}, [1, 2]]}, "a", "b"]}"#, ["type-mismatch"]),
        (#"{"if": [{"===": [{"var": "targetingKey"}, 5]}, "a", "b"]}"#, ["type-mismatch"]),
        (#"{"if": [{"==": [{"var": "$flagd.timestamp"}, "today"]}, "a", "b"]}"#, ["type-mismatch"]),
        (#"{"if": [{"sem_ver": [{"var": "v"}, ">=", "2.0.0.0"]}, "a", "b"]}"#, ["invalid-version"]),
        (#"{"if": [{"sem_ver": [{"var": "v"}, "=>", "2.0.0"]}, "a", "b"]}"#, ["invalid-version"]),
        (#"{"if": [{"sem_ver": [{"var": "v"}, "2.0.0"]}, "a", "b"]}"#, ["arguments"]),
        (#"{"if": [{"ends_with": [{"var": "v"}, 5]}, "a", "b"]}"#, ["arguments"]),
        (#"{"if": [{"==": [1, 2]}, "a", "b"]}"#, ["constant-condition"]),
        (#"{"if": [false, "a", "b"]}"#, ["constant-condition"]),
        (#"{"if": [false, "a"]}"#, ["never-matches", "constant-condition"]),
        (#"{"if": [{"var": "x"}, "a", true, "b", {"var": "y"}, "a"]}"#, ["unreachable-branch"]),
        (#"{"if": [true, "a", "b"]}"#, ["unreachable-branch"]),
        (#"{"if": [{"var": "x"}, "a", true, "b"]}"#, []),
        (#"{"if": [{"var": "x"}, "a", {"var": "x"}, "b"]}"#, ["unreachable-branch"]),
        (#"{"if": [{"and": [{">": [{"var": "n"}, 5]}, {"<": [{"var": "n"}, 5]}]}, "a", "b"]}"#, ["constant-condition"]),
        (
            #"{"if": [{"and": [{"==": [{"var": "n"}, "x"]}, {"==": [{"var": "n"}, "y"]}]}, "a", "b"]}"#,
            ["constant-condition"]
        ),
        (#"{"if": [{"and": [{"==": [{"var": "n"}, "1"]}, {"==": [{"var": "n"}, "1.0"]}]}, "a", "b"]}"#, []),
        (#"{"if": [{"and": [{"<": [{"var": ["n", 9]}, 5]}, {">": [{"var": ["n", 1]}, 5]}]}, "a", "b"]}"#, []),
        (#"{"if": [{"and": [{"==": [{"var": ["n", "x"]}, "x"]}, {"==": [{"var": ["n", "y"]}, "y"]}]}, "a", "b"]}"#, []),
        (#"{"if": [{"or": [{"var": "x"}, {"!": [[]]}]}, "a", "b"]}"#, ["unreachable-branch"]),
        (#"{"iff": [{"var": "x"}, "a", "b"]}"#, ["unknown-operator"]),
        (#"{"if": [{"$ref": "none"}, "a", "b"]}"#, ["unknown-reference"]),
        (#"{"if": [{"var": "x"}, null]}"#, ["never-matches"]),
    ])
    func aRuleThatDoesNotDoWhatItSaysIsFound(targeting: String, expected: [String]) throws {
        #expect(try rules(targeting).sorted() == expected.sorted(), "\(targeting)")
    }

    @Test func everyFindingSaysWhereItIs() throws {
        let findings = try lint(
            """
            {
              "flags": {
                "f": {
                  "state": "ON",
                  "variants": {"a": 1, "b": "x", "c": null},
                  "defaultVariant": "z",
                  "targetting": {},
                  "metadata": {"m": []}
                },
                "g": []
              },
              "extra": 1
            }
            """
        )
        #expect(
            findings.map { "\($0.location.line ?? 0):\($0.location.column ?? 0) \($0.rule.rawValue)" } == [
                "4:16 schema", "5:33 schema", "5:43 schema", "6:25 schema", "7:7 unknown-member", "8:25 metadata",
                "10:10 schema", "12:3 unknown-member",
            ]
        )
        let first = try #require(findings.first)
        #expect(first.description == #"test.json:4:16: error: the "state" must be "ENABLED" or "DISABLED" [schema]"#)
    }

    @Test func namesThatStandTwiceAreFound() throws {
        let flag = #"{"state": "ENABLED", "variants": {"a": 1, "a": 2}}"#
        #expect(try lint(#"{"flags": {"f": \#(flag)}}"#).map(\.rule) == [.duplicateKey])
        let element = #"{"key": "f", "state": "ENABLED", "variants": {"a": 1}}"#
        #expect(try lint(#"{"flags": [\#(element), \#(element)]}"#).map(\.rule) == [.duplicateKey])
        #expect(try lint(#"{"flags": {}, "metadata": {"a": "\ud800"}}"#).map(\.rule) == [.encoding])
    }

    @Test func evaluatorsMustBeUsedAndMustNotReferToEachOther() throws {
        let found = try rules(
            #"{"if": [{"$ref": "x"}, "a", "b"]}"#,
            evaluators: #"{"x": {"!": {"$ref": "y"}}, "y": {"var": "z"}}"#
        )
        #expect(Set(found) == ["unknown-reference", "unused-evaluator"])
    }

    @Test func anEmptyListOfFlagsIsAWarning() throws {
        #expect(try lint(#"{"flags": []}"#).map(\.rule) == [.schema])
        #expect(try lint(#"{"flags": []}"#).map(\.severity) == [.warning])
        #expect(try lint(#"{"flags": {}}"#).isEmpty)
    }

    @Test func aDisabledFlagWithARuleIsFound() throws {
        let findings = try lint(
            #"{"flags": {"f": {"state": "DISABLED", "variants": {"a": 1}, "targeting": {"if": [{"var": "x"}, "a"]}}}}"#
        )
        #expect(findings.map(\.rule) == [.disabledTargeting])
    }

    @Test(arguments: [
        (#"{"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}"#, [LintRule]()),
        (#"{"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on"}"#, [.killPulled]),
        (#"{"state": "DISABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}"#, [.killFlag]),
        (#"{"state": "ENABLED", "variants": {"off": false}, "defaultVariant": "off"}"#, [.killFlag]),
        (#"{"state": "ENABLED", "variants": {"on": true, "off": false}}"#, [.killFlag]),
        (#"{"state": "ENABLED", "variants": {"on": "true", "off": "false"}, "defaultVariant": "off"}"#, [.killFlag]),
    ])
    func aKillFlagMustBeAbleToKill(flag: String, expected: [LintRule]) throws {
        #expect(try lint(#"{"flags": {"kill": \#(flag)}}"#).map(\.rule) == expected, "\(flag)")
    }

    @Test func aFileThatCannotBeParsedIsReportedWithItsPlace() throws {
        let report = try Self.linter.lint(Data("{\"flags\": {\n  ,}}".utf8), source: "test.json")
        #expect(!report.isReadable)
        #expect(report.findings.map(\.rule) == [.syntax])
        #expect(report.findings.first?.location.line == 2)
        let yaml = try Self.linter.lint(Data("flags: {a: [}".utf8), format: .yaml, source: "test.yaml")
        #expect(!yaml.isReadable)
    }

    /// For the linter `{}` was a file with an error; for all other commands it was unreadable.
    @Test(arguments: ["{}", "[]", "5", #"{"flags": 5}"#, #"{"flag": {}}"#])
    func aFileThatNoFlagCanBeReadFromIsNotReadable(json: String) throws {
        let report = try Self.linter.lint(Data(json.utf8), source: "test.json")
        #expect(!report.isReadable)
        #expect(report.hasErrors)
        #expect(throws: FlagError.self) { try makeSnapshot(json) }
        #expect(try Self.linter.lint(Data(#"{"flags": {}}"#.utf8), source: "test.json").isReadable)
    }

    /// A file without errors has no quarantined flag: the linter is never more lenient than the loader.
    @Test func whatTheLoaderRefusesIsAnError() throws {
        for flag in [
            "5", "{}", #"{"state": "ENABLED"}"#, #"{"state": "ENABLED", "variants": {"a": 1}, "targeting": []}"#,
            #"{"state": "ENABLED", "variants": {"a": 1}, "targeting": {"if": [], "or": []}}"#,
            #"{"state": "ENABLED", "variants": {"a": 1}, "targeting": {"if": [{"or": [], "and": []}, "a"]}}"#,
            #"{"state": "ENABLED", "variants": {"a": 1}, "targeting": {"if": [{"$ref": 5}, "a"]}}"#,
            #"{"state": "ENABLED", "variants": {"a": 1}, "defaultVariant": 5}"#,
        ] {
            let json = #"{"flags": {"f": \#(flag)}}"#
            #expect(try makeSnapshot(json).quarantined.count == 1, "\(flag)")
            #expect(try lint(json).contains { $0.severity == .error }, "\(flag)")
        }
        var deep = #"{"var": "x"}"#
        for _ in 0..<70 { deep = #"{"!": [\#(deep)]}"# }
        #expect(try rules(#"{"if": [\#(deep), "a", "b"]}"#) == ["schema"])
    }

    /// After more than a thousand warnings, errors were not reported, and the file counted as good.
    @Test func warningsDoNotCrowdOutErrors() throws {
        let ignored = (0..<1500).map { "\"x\($0)\": 1, " }.joined()
        let findings = try lint(
            #"{\#(ignored)"flags": {"f": {"state": "ENABLED", "variants": {"a": 1}, "targeting": 5}}}"#
        )
        #expect(findings.count { $0.severity == .warning } == FlagLinter.maximumFindings)
        #expect(findings.filter { $0.severity == .error }.map(\.rule) == [.schema])
    }

    /// The linter searched all earlier conditions for each condition, and all flags for each quarantined one: hours for a file that the loader reads
    /// in a
    /// second.
    @Test func aLongFileIsNotReadOnceForEachOfItsParts() throws {
        let branches = (0..<20_000).map { #"{"==": [{"var": "targetingKey"}, "user-\#($0)"]}, "a""# }
        let bad = (0..<20_000).map { #""f\#($0)": {"state": "ENABLED"}"# }
        let (found, time) = try withThreadTime {
            (
                try rules(#"{"if": [\#(branches.joined(separator: ", "))]}"#),
                try lint(#"{"flags": {\#(bad.joined(separator: ", "))}}"#).count
            )
        }
        #expect(found == (["schema"], FlagLinter.maximumFindings))
        #expect(time < .seconds(60))
    }

    @Test func aPercentageMustNotHandOutAStageBeyondTheNext() throws {
        #expect(try jumps(#"{"fractional": [["dualwrite", 5], ["off", 95]]}"#) == 0)
        #expect(try jumps(#"{"fractional": [["shadow", 5], ["off", 95]]}"#) == 1)
        #expect(try jumps(#"{"fractional": [["shadow", 5], ["dualwrite", 95]]}"#) == 0)
        #expect(try jumps(#"{"fractional": [["live", 5], ["shadow", 95]]}"#, "shadow") == 0)
        #expect(try jumps(#"{"fractional": [["live", 100]]}"#) == 1)
        #expect(try jumps(#"{"fractional": [["live", 0], ["dualwrite", 10], ["off", 90]]}"#) == 0)
    }

    @Test func aChangeMustNotTakeACohortOverAStage() throws {
        let off = stageFile(nil)
        #expect(try jumps(nil, "dualwrite", against: off) == 0)
        #expect(try jumps(nil, "shadow", against: off) == 1)
        // Moving back is always allowed.
        #expect(try jumps(nil, "off", against: stageFile(nil, defaultVariant: "live")) == 0)
        for condition in [
            #"{"in": [{"var": "targetingKey"}, ["ada"]]}"#, #"{"ends_with": [{"var": "email"}, "@x.org"]}"#,
            #"{"sem_ver": [{"var": "app.version"}, ">=", "2.1.0"]}"#, #"{"starts_with": [{"var": "app.os"}, "Linux"]}"#,
            #"{">=": [{"var": "$flagd.timestamp"}, 1800000000]}"#, #"{"==": [{"var": "plan.name"}, "pro"]}"#,
            #"{"and": [{"==": [{"var": "plan"}, "pro"]}, {">": [{"var": "build"}, 700]}]}"#,
        ] {
            let jump = #"{"if": [\#(condition), "live", "off"]}"#
            #expect(try jumps(jump, against: off) == 1, "\(condition)")
            let next = #"{"if": [\#(condition), "dualwrite", "off"]}"#
            #expect(try jumps(next, against: off) == 0, "\(condition)")
            // A user at shadow may go live; the others still may not.
            let before = stageFile(#"{"if": [\#(condition), "shadow", "off"]}"#)
            #expect(try jumps(jump, against: before) == 0, "\(condition)")
            let swapped = #"{"if": [\#(condition), "shadow", "live"]}"#
            #expect(try jumps(swapped, against: before) == 1, "\(condition)")
        }
    }

    /// Every second one of many combinations was tried, and the first variable was never set in these.
    @Test func eachOfManyVariablesIsTried() throws {
        let names = (0..<12).map { "v\($0)" }
        let before = names.map { #"{"==": [{"var": "\#($0)"}, "x"]}, "dualwrite""# }.joined(separator: ", ")
        let off = stageFile(#"{"if": [\#(before), "off"]}"#)
        for name in names {
            let jump = #"{"if": [{"==": [{"var": "\#(name)"}, "x"]}, "live", \#(before), "off"]}"#
            #expect(try jumps(jump, against: off) > 0, "\(name)")
        }
    }

    @Test func aChangedPercentageIsLookedAtWhateverItIsBucketedBy() throws {
        let off = stageFile(nil)
        for bucket in ["", #"{"var": "account.id"},"#, #"{"cat": [{"var": "$flagd.flagKey"}, {"var": "mail"}]},"#] {
            let percentage = #"{"fractional": [\#(bucket) ["shadow", 1], ["dualwrite", 99]]}"#
            let jump = #"{"if": [{"var": "beta"}, \#(percentage), "off"]}"#
            #expect(try jumps(jump, "dualwrite", against: off) == 1, "\(bucket)")
        }
    }

    @Test func changedSumsAndOrdersOfWeightsAreFound() throws {
        func found(_ new: String, _ old: String) throws -> Bool {
            try lint(stageFile(new), against: stageFile(old)).contains { $0.rule == .rebucketing }
        }
        let old = #"{"fractional": [["dualwrite", 5], ["off", 95]]}"#
        #expect(try !found(#"{"fractional": [["dualwrite", 50], ["off", 50]]}"#, old))
        #expect(try found(#"{"fractional": [["dualwrite", 50], ["off", 950]]}"#, old))
        #expect(try found(#"{"fractional": [["off", 95], ["dualwrite", 5]]}"#, old))
    }

    /// `--against` warned only about a different sum or order. A different salt or attribute gives each user a new place, and was not reported.
    @Test func anotherSaltOrAttributeIsARebucketing() throws {
        func found(_ new: String, _ old: String) throws -> Bool {
            let weights = #"["dualwrite", 5], ["off", 95]"#
            let files = [new, old].map { stageFile(#"{"fractional": [\#($0.isEmpty ? "" : $0 + ",") \#(weights)]}"#) }
            return try lint(files[0], against: files[1]).contains { $0.rule == .rebucketing }
        }
        let salted = #"{"cat": ["x", {"var": "targetingKey"}]}"#
        let standard = #"{"cat": [{"var": "$flagd.flagKey"}, {"var": ["targetingKey"]}]}"#
        #expect(try found(salted, ""))
        #expect(try found("", salted))
        #expect(try found(#"{"var": "email"}"#, ""))
        #expect(try found(#"{"var": "email"}"#, #"{"var": "account"}"#))
        // Equivalent rules in different forms.
        #expect(try !found(standard, ""))
        #expect(try !found(salted, #"{"cat": ["x", {"cat": [{"var": "targetingKey"}]}]}"#))
        #expect(try !found(#"{"var": "email"}"#, #"{"var": ["email"]}"#))
    }

    /// A percentage that is inserted before others does not hide a change in those.
    @Test func aRebucketingIsFoundAmongOtherPercentages() throws {
        func rule(_ salt: String, and other: String = "") -> String {
            #"{"if": [\#(other) {"var": "beta"}, {"fractional": [\#(salt) ["dualwrite", 5], ["off", 95]]}, "off"]}"#
        }
        func found(_ new: String, _ old: String) throws -> Bool {
            try lint(stageFile(new), against: stageFile(old)).contains { $0.rule == .rebucketing }
        }
        let other = #"{"var": "staff"}, {"fractional": [["dualwrite", 50], ["off", 50]]}, "#
        #expect(try found(rule(#"{"var": "email"}, "#, and: other), rule("", and: other)))
        #expect(try !found(rule("", and: other), rule("")))
    }

    /// A flag that was moving users, and the one that could have stopped it, could disappear without a finding.
    @Test func aFlagThatIsGoneAndALowerVersionAreFound() throws {
        func rules(_ new: String, _ old: String) throws -> [LintRule] { try lint(new, against: old).map(\.rule) }
        let kill = #""kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}"#
        let other = #""other": {"state": "ENABLED", "variants": {"a": 1}, "defaultVariant": "a"}"#
        func file(_ flags: [String], version: String? = nil) -> String {
            let metadata = version.map { #""metadata": {"version": \#($0)}, "# } ?? ""
            return "{\(metadata)\"flags\": {\(flags.joined(separator: ", "))}}"
        }
        #expect(try rules(file([other]), file([kill, other])) == [.removedFlag])
        #expect(try rules(stageFile(nil), file([])) == [])
        #expect(try rules(file([kill]), stageFile(nil)) == [.removedFlag])
        // The linter does not know whether a program reads it.
        #expect(try rules(file([kill]), file([kill, other])) == [])
        for (new, old) in [(#""9""#, #""10""#), ("1", #""2""#), (#""1.9.9""#, #""v1.10""#)] {
            #expect(try rules(file([kill], version: new), file([kill], version: old)) == [.version], "\(new) \(old)")
            #expect(try rules(file([kill], version: old), file([kill], version: new)) == [], "\(new) \(old)")
        }
        #expect(try rules(file([kill]), file([kill], version: #""2""#)) == [.version])
        #expect(try rules(file([kill], version: #""beta""#), file([kill], version: #""2""#)) == [])
    }

    @Test func enginesThatAreEqualOrExchangedAreFound() throws {
        let linter = FlagLinter(stages: [], family: .engines("habit"), configuration: FlagConfiguration())
        func file(_ old: String, _ new: String, _ targeting: String = "{}") -> Data {
            let start = #"{"state": "ENABLED", "variants": {"a": "a", "b": "b"}, "defaultVariant": "#
            return Data(
                #"{"flags": {"habit-old": \#(start)"\#(old)"}, "habit-new": \#(start)"\#(new)", "targeting": \#(targeting)}}}"#
                    .utf8
            )
        }
        func found(_ new: Data, _ old: Data? = nil) throws -> [LintFinding] {
            try linter.lint(new, source: "test.json", against: old).findings.filter { $0.rule == .flagPair }
        }
        #expect(try found(file("a", "b")) == [])
        #expect(try found(file("a", "b"), file("a", "b")) == [])
        #expect(try found(file("a", "a")).map(\.severity) == [.error])
        #expect(try found(file("b", "a"), file("a", "b")).map(\.severity) == [.warning])
        let some = #"{"if": [{"==": [{"var": "targetingKey"}, "ada"]}, "a"]}"#
        #expect(try found(file("a", "b", some)).map(\.message).first?.contains("ada") == true)
    }

    @Test func yamlIsLintedWithItsPlaces() throws {
        let report = try Self.linter.lint(
            Data("flags:\n  f:\n    state: ENABLED\n    variants: {a: 1}\n    defaultVariant: b\n".utf8),
            format: .yaml,
            source: "test.yaml"
        )
        #expect(report.findings.map(\.description).count == 1)
        #expect(report.findings.first?.location == FlagError.Location(file: "test.yaml", line: 5, column: 21))
    }
}

extension FlagFamily {
    /// Flags for a pair of the engines `a` and `b`, under any name that begins with `first`.
    static func engines(_ first: String) -> FlagFamily {
        let engine = Values.texts(.init("an engine", ["a", "b"]))
        return FlagFamily(
            first: first,
            endings: ["-old": engine, "-new": engine],
            pair: .init(from: "-old", to: "-new"),
            canBeName: { _ in true }
        )
    }
}
