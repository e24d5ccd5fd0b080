import Foundation
import Testing

/// `habitstore flags`, from the command line.
struct FlagsCommandTests {
    /// A flag file with an unusual layout, in the sandbox.
    private static let text = """
        {"flags": {
          "habit-store-backend":   { "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "state": "ENABLED",
            "targeting": {"if": [ {"in": [{"var": "targetingKey"}, ["ada"]]}, "lmdb",
              {"fractional": [["lmdb", 10], ["sqlite",  90]]} ]},
            "defaultVariant": "sqlite" },
          "habit-store-kill": {"state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"},
          "size": {"state": "ENABLED", "variants": {"small": 3, "large": 3.5}, "defaultVariant": "large",
            "metadata": {"owner": "store"}}
        }}

        """

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write("flags.json", Self.text)
        return sandbox
    }

    private func content(_ sandbox: Sandbox) throws -> String {
        try String(contentsOfFile: sandbox.path("flags.json"), encoding: .utf8)
    }

    private func sentinelIsThere(_ sandbox: Sandbox) -> Bool {
        FileManager.default.fileExists(atPath: sandbox.path("data/habitstore/habit-store.kill"))
    }

    @Test func lintSaysWhereAndEndsWithOneWhenThereIsAnError() throws {
        let sandbox = try sandbox()
        let clean = try sandbox.run("flags", "lint", "flags.json")
        clean.expectSuccess()
        #expect(clean.output == "flags.json: nothing found\n")
        try sandbox.write("bad.json", Self.text.replacing(#""lmdb","#, with: #""lmbd","#))
        let bad = try sandbox.run("flags", "lint", "flags.json", "bad.json")
        #expect(bad.status == 1)
        #expect(bad.errors.isEmpty)
        #expect(bad.output.contains("bad.json:3:71: error: \"lmbd\" is not a variant"))
        #expect(bad.output.hasSuffix("[unknown-variant]\n"))
        let json = try sandbox.run("flags", "lint", "bad.json", "--format", "json")
        #expect(json.status == 1)
        #expect(try json.json()["errors"] as? Int == 2)
        let file = try #require(try json.list("files").first)
        let finding = try #require((file["findings"] as? [[String: Any]])?.first)
        #expect(finding["rule"] as? String == "unknown-variant")
        #expect(finding["line"] as? Int == 3)
        #expect(finding["column"] as? Int == 71)
    }

    @Test func lintTellsWarningsUnparsableAndMissingFilesApart() throws {
        let sandbox = try sandbox()
        try sandbox.write("warned.json", Self.text.replacing(#" 90]"#, with: " 85]"))
        let warned = try sandbox.run("flags", "lint", "warned.json")
        warned.expectSuccess()
        #expect(warned.output.contains("warning: the weights look like percentages and sum to 95"))
        #expect(try sandbox.run("flags", "lint", "warned.json", "--strict").status == 1)
        try sandbox.write("cut.json", String(Self.text.prefix(100)))
        let cut = try sandbox.run("flags", "lint", "cut.json", "flags.json")
        #expect(cut.status == 65)
        #expect(cut.output.contains("[syntax]"))
        #expect(cut.output.contains("flags.json: nothing found"))
        try sandbox.run("flags", "lint", "none.json").expectError(74, containing: "none.json")
        try sandbox.run("flags", "lint", "flags.json", "cut.json", "--against", "flags.json").expectError(64)
        try sandbox.run("flags", "lint", "flags.json", "--against", "cut.json").expectError(65, containing: "cut.json")
    }

    @Test func aStageThatIsJumpedOverIsFoundInTheChange() throws {
        let sandbox = try Sandbox()
        func file(_ stage: String) -> String {
            let stages = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]
            let variants = stages.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
            return """
                {"flags": {"habit-store-stage": {
                  "state": "ENABLED", "variants": {\(variants)}, "defaultVariant": "\(stage)"
                }}}
                """
        }
        for stage in ["off", "dualwrite", "live"] { try sandbox.write("\(stage).json", file(stage)) }
        try sandbox.run("flags", "lint", "dualwrite.json", "--against", "off.json", "--strict").expectSuccess()
        try sandbox.run("flags", "lint", "off.json", "--against", "live.json", "--strict").expectSuccess()
        let jump = try sandbox.run("flags", "lint", "live.json", "--against", "off.json", "--strict")
        #expect(jump.status == 1)
        #expect(jump.output.contains("from \"off\" to \"live\"; the next stage is \"dualwrite\" [stage-jump]"))
    }

    @Test func evaluateShowsTheWholeOutcome() throws {
        let sandbox = try sandbox()
        func evaluate(_ arguments: String...) throws -> CommandRun {
            try sandbox.run(["flags", "evaluate", "--file", "flags.json", "--format", "json"] + arguments)
        }
        let ada = try evaluate("--flag", "habit-store-backend", "--context", #"{"targetingKey": "ada"}"#)
        ada.expectSuccess()
        let outcome = try ada.json()
        #expect(outcome["value"] as? String == "lmdb")
        #expect(outcome["variant"] as? String == "lmdb")
        #expect(outcome["reason"] as? String == "TARGETING_MATCH")
        #expect(outcome["errorCode"] is NSNull)
        let size = try evaluate("--flag", "size", "--type", "double").json()
        #expect(size["value"] as? Double == 3.5)
        #expect(size["reason"] as? String == "STATIC")
        #expect((size["metadata"] as? [String: Any])?["owner"] as? String == "store")
        let wrong = try evaluate("--flag", "size", "--type", "int")
        #expect(wrong.status == 1)
        #expect(try wrong.json()["errorCode"] as? String == "TYPE_MISMATCH")
        #expect(try wrong.json()["value"] is NSNull)
        let unknown = try evaluate("--flag", "nobody")
        #expect(unknown.status == 1)
        #expect(try unknown.json()["errorCode"] as? String == "FLAG_NOT_FOUND")
        try sandbox.run("flags", "evaluate", "--flag", "size", "--file", "flags.json", "--context", "[1]")
            .expectError(64, containing: "JSON object")
        let text = try sandbox.run("flags", "evaluate", "--flag", "size", "--file", "flags.json")
        text.expectSuccess()
        #expect(text.output.contains("STATIC"))
    }

    /// The text said `value null`, although a program gets its own default, which need not be null.
    @Test func evaluateSaysThatAMismatchIsServedTheCallersDefault() throws {
        let sandbox = try sandbox()
        let run = try sandbox.run("flags", "evaluate", "--flag", "size", "--type", "int", "--file", "flags.json")
        #expect(run.status == 1)
        #expect(run.output.contains("the caller's default"))
        #expect(!run.output.contains("null"))
        #expect(run.output.contains("TYPE_MISMATCH"))
    }

    @Test func evaluateAllAnswersForEveryFlagInOneCall() throws {
        let sandbox = try sandbox()
        try sandbox.write("some.json", Self.text.replacing(#""size": {"state""#, with: #""size": {"stat""#))
        func all(_ file: String, _ arguments: String...) throws -> CommandRun {
            try sandbox.run(
                ["flags", "evaluate", "--all", "--file", file, "--context", #"{"targetingKey": "ada"}"#] + arguments
            )
        }
        let run = try all("flags.json", "--format", "json")
        run.expectSuccess()
        let flags = try run.list("flags")
        #expect(flags.compactMap { $0["flag"] as? String } == ["habit-store-backend", "habit-store-kill", "size"])
        #expect(flags[0]["variant"] as? String == "lmdb")
        #expect(flags[1]["value"] as? Bool == false)
        #expect(try (run.json()["digest"] as? String)?.count == 64)
        let text = try all("flags.json")
        text.expectSuccess()
        #expect(text.output.contains("TARGETING_MATCH"))
        let some = try all("some.json")
        #expect(some.status == 1)
        #expect(some.output.contains("ERROR: PARSE_ERROR"))
        #expect(some.output.contains("the caller's default"))
        try sandbox.run("flags", "evaluate", "--file", "flags.json").expectError(64, containing: "--all")
        try sandbox.run("flags", "evaluate", "--all", "--flag", "size").expectError(64, containing: "--all")
        try sandbox.run("flags", "evaluate", "--all", "--type", "int").expectError(64, containing: "--type")
    }

    @Test func aMisspeltNameIsAnsweredWithTheNearestOne() throws {
        let sandbox = try sandbox()
        let flag = try sandbox.run("flags", "evaluate", "--flag", "habit-store-bakend", "--file", "flags.json")
        #expect(flag.status == 1)
        #expect(flag.output.contains(#"did you mean "habit-store-backend"?"#))
        try sandbox.run("flags", "set", "siz", "--variant", "small", "--file", "flags.json")
            .expectError(64, containing: #"did you mean "size"?"#)
        let arguments = ["flags", "explain", "--flag", "habit-store-backend", "--file", "flags.json", "--context"]
        let context = #"{"targetingkey": "ada"}"#
        let text = try sandbox.run(arguments + [context])
        #expect(
            text.output.contains(#"the rule reads "targetingKey", and the context has "targetingkey""#),
            "\(text.output)"
        )
        let hints = try sandbox.run(arguments + [context, "--format", "json"]).list("hints")
        #expect((hints.first?["location"] as? [String: Any])?["line"] as? Int == 3)
    }

    /// Standard output was empty, so that a program reading it failed on that instead of reporting the error.
    @Test func anErrorIsAnObjectWhereJSONIsAskedFor() throws {
        let sandbox = try sandbox()
        try sandbox.write("cut.json", "{")
        for (arguments, status, code) in [
            (["flags", "evaluate", "--flag", "size", "--file", "none.json"], 74, "FILE_NOT_FOUND"),
            (["flags", "evaluate", "--all", "--file", "cut.json"], 65, "PARSE_ERROR"),
            (["flags", "explain", "--flag", "size", "--file", "cut.json"], 65, "PARSE_ERROR"),
            (["flags", "set", "size", "--variant", "none", "--file", "flags.json"], 64, "EDIT_REFUSED"),
            (["flags", "evaluate", "--flag", "size", "--file", "flags.json", "--context", "5"], 64, "INVALID_CONTEXT"),
            (["check", "none"], 74, "notFound"),
        ] {
            let run = try sandbox.run(arguments + ["--format", "json"])
            #expect(run.status == Int32(status), "\(arguments)")
            let error = try #require(try run.json()["error"] as? [String: Any], "\(arguments)")
            #expect(error["exitCode"] as? Int == status, "\(arguments)")
            #expect(error["code"] as? String == code, "\(arguments): \(error)")
            let message = try #require(error["message"] as? String)
            #expect(run.errors == "habitstore: error: \(message)\n")
        }
        let cut = try sandbox.run("flags", "evaluate", "--all", "--file", "cut.json", "--format", "json").json()
        #expect(((cut["error"] as? [String: Any])?["location"] as? [String: Any])?["line"] as? Int == 1)
    }

    /// After the first file that could not be read, no other file was checked.
    @Test func lintLooksAtAllFilesWhateverIsWrongWithOne() throws {
        let sandbox = try sandbox()
        try sandbox.write("bad.json", Self.text.replacing(#""lmdb","#, with: #""lmbd","#))
        try sandbox.write("empty.json", "{}")
        let run = try sandbox.run("flags", "lint", "none.json", "bad.json", "empty.json", "flags.json")
        #expect(run.status == 74)
        #expect(run.errors.hasPrefix("habitstore: error: none.json"))
        #expect(run.errors.filter { $0 == "\n" }.count == 1)
        #expect(run.output.contains("bad.json:3:71: error: \"lmbd\" is not a variant"))
        #expect(run.output.contains("flags.json: nothing found"))
        #expect(try sandbox.run("flags", "lint", "bad.json", "empty.json").status == 65)
        #expect(try sandbox.run("flags", "evaluate", "--all", "--file", "empty.json").status == 65)
        let json = try sandbox.run("flags", "lint", "none.json", "bad.json", "--format", "json")
        #expect(json.status == 74)
        #expect(json.errors.isEmpty)
        let files = try json.list("files")
        #expect((files[0]["error"] as? [String: Any])?["code"] as? String == "FILE_NOT_FOUND")
        #expect((files[1]["findings"] as? [[String: Any]])?.isEmpty == false)
        #expect(try json.json()["errors"] as? Int == 2)
    }

    /// `flags set` moved ten of ten users with it: all of them were in the single bucket of the text "targetingKey".
    @Test func aPercentageOfAConstantIsFoundAndCannotBeRaised() throws {
        let sandbox = try Sandbox()
        let old = Self.text.replacing(
            #"{"fractional": [["lmdb", 10]"#,
            with: #"{"fractional": ["targetingKey", ["lmdb", 10]"#
        )
        try sandbox.write("flags.json", old)
        try sandbox.write(
            "new.json",
            old.replacing(#"["lmdb", 10], ["sqlite",  90]"#, with: #"["lmdb", 90], ["sqlite",  10]"#)
        )
        for arguments in [["new.json"], ["new.json", "--against", "flags.json", "--strict"]] {
            let lint = try sandbox.run(["flags", "lint"] + arguments)
            #expect(lint.status == 1)
            #expect(lint.output.contains("[constant-bucket]"))
        }
        try sandbox.run(
            "flags",
            "set",
            "habit-store-backend",
            "--percentage",
            "lmdb=90,sqlite=10",
            "--file",
            "flags.json"
        )
        .expectError(64, containing: "the same for everybody")
        #expect(try content(sandbox) == old)
        let context = #"{"targetingKey": "berta"}"#
        let run = try sandbox.run(
            "flags",
            "evaluate",
            "--flag",
            "habit-store-backend",
            "--file",
            "flags.json",
            "--context",
            context
        )
        #expect(run.status == 1)
        #expect(run.output.contains("PARSE_ERROR"))
    }

    @Test func theFileOfTheSettingsIsUsedWhereNoneIsNamed() throws {
        let sandbox = try sandbox()
        let variables = ["HABITSTORE_FLAGS": sandbox.path("flags.json")]
        try sandbox.run("flags", "evaluate", "--flag", "size", environment: variables).expectSuccess()
        try sandbox.run("flags", "evaluate", "--flag", "size").expectError(74, containing: "habit-store.flagd.json")
        try sandbox.want("lmdb")
        let run = try sandbox.run("flags", "evaluate", "--flag", "habit-store-backend", "--format", "json")
        #expect(try run.json()["value"] as? String == "lmdb")
    }

    /// The bucket of ada was computed with an independent implementation.
    @Test func explainNamesTheRuleTheBucketAndTheFile() throws {
        let sandbox = try sandbox()
        let arguments = ["flags", "explain", "--flag", "habit-store-backend", "--file", "flags.json", "--context"]
        let ada = try sandbox.run(arguments + [#"{"targetingKey": "ada"}"#, "--format", "json"]).json()
        let decision = try #require((ada["decisions"] as? [[String: Any]])?.first)
        #expect(decision["summary"] as? String == "branch 1 of the \"if\" in line 3")
        #expect((decision["location"] as? [String: Any])?["column"] as? Int == 71)
        #expect(ada["fractional"] is NSNull)
        #expect((ada["digest"] as? String)?.count == 64)
        let text = try sandbox.run(arguments + [#"{"targetingKey": "berta"}"#])
        text.expectSuccess()
        for part in [
            "the else branch of the \"if\" in line 3", "entry 2 of 2 of \"fractional\"", "79 of 100",
            "\"habit-store-backendberta\" (v2)", "lmdb 10, sqlite 90", "sha256:", "fractional → \"sqlite\"",
            "in → false",
        ] {
            #expect(text.output.contains(part), "\(part) is not in \(text.output)")
        }
    }

    @Test func setChangesOneValueAndNoOtherByte() throws {
        let sandbox = try sandbox()
        func set(_ arguments: String...) throws -> CommandRun {
            try sandbox.run(["flags", "set"] + arguments + ["--file", "flags.json"])
        }
        try set("habit-store-backend", "--percentage", "lmdb=20,sqlite=80").expectSuccess()
        let twenty = Self.text.replacing(#"["lmdb", 10]"#, with: #"["lmdb", 20]"#).replacing("  90]", with: "  80]")
        #expect(try content(sandbox) == twenty)
        try set("size", "--variant", "small").expectSuccess()
        #expect(try content(sandbox) == twenty.replacing(#""large","#, with: #""small","#))
        try set("size", "--variant", "large").expectSuccess()
        try set("size", "--state", "disabled").expectSuccess()
        try set("size", "--state", "enabled").expectSuccess()
        try set("habit-store-backend", "--percentage", "sqlite=90,lmdb=10").expectSuccess()
        #expect(try content(sandbox) == Self.text)
        #expect(try set("size", "--variant", "large").output.contains("nothing to change"))
        let dry = try set("size", "--variant", "small", "--dry-run")
        dry.expectSuccess()
        #expect(dry.output.contains("would change"))
        #expect(try content(sandbox) == Self.text)
    }

    @Test func setTellsWhatAChangeWouldDoAndRefusesErrors() throws {
        let sandbox = try sandbox()
        func set(_ arguments: String...) throws -> CommandRun {
            try sandbox.run(["flags", "set"] + arguments + ["--file", "flags.json"])
        }
        try set("habit-store-backend", "--variant", "none").expectError(
            64,
            containing: "there are \"sqlite\", \"lmdb\""
        )
        try set("nobody", "--variant", "x").expectError(64, containing: "nobody")
        try set("habit-store-backend", "--percentage", "lmdb=20").expectError(64, containing: "name a weight")
        try set("habit-store-backend", "--percentage", "lmdb=x").expectError(64, containing: "not a share")
        try set("habit-store-backend").expectError(64, containing: "--variant")
        try set("habit-store-kill", "--state", "disabled").expectError(64, containing: "cannot kill")
        #expect(try content(sandbox) == Self.text)
        let note = try set("habit-store-backend", "--variant", "lmdb")
        #expect(note.status == 0)
        #expect(note.errors.contains("has a rule, which takes precedence over its default"))
        let sum = try set("habit-store-backend", "--percentage", "lmdb=5,sqlite=5")
        #expect(sum.status == 0)
        #expect(sum.errors.contains("[rebucketing]"))
        let free = try set("habit-store-backend", "--variant", "sqlite", "--remove-targeting")
        free.expectSuccess()
        #expect(try !content(sandbox).contains("targeting\""))
    }

    /// Makes a user for a kill to reach, in the root of the settings; `flags.json` is its flag file.
    private static func settings(_ sandbox: Sandbox) throws -> [String: String?] {
        #expect(try sandbox.run("habit", "add", "Run", "--flags", "").status == 0)
        return ["HABITSTORE_FLAGS": sandbox.path("flags.json")]
    }

    @Test func killStopsEverybodyByBothTriggersAndRearmTakesItBack() throws {
        let sandbox = try sandbox()
        let settings = try Self.settings(sandbox)
        let kill = try sandbox.run("flags", "kill", "--file", "flags.json", environment: settings)
        kill.expectSuccess()
        #expect(kill.output.contains("killed for everybody"))
        #expect(kill.output.contains("  it reaches 1 user with stores here\n"))
        #expect(sentinelIsThere(sandbox))
        #expect(try content(sandbox) == Self.text.replacing(#": "armed"}"#, with: #": "killed"}"#))
        try sandbox.run("flags", "kill", environment: settings).expectSuccess()
        try sandbox.run("flags", "rearm", "--file", "flags.json", environment: settings).expectSuccess()
        #expect(try content(sandbox) == Self.text)
        #expect(!sentinelIsThere(sandbox))
        #expect(try sandbox.run("flags", "rearm", environment: settings).output == "nothing was pulled\n")
    }

    @Test func killStopsSomeUsersByTheFlagAlone() throws {
        let sandbox = try sandbox()
        func isKilled(_ user: String) throws -> Bool? {
            let context = "{\"targetingKey\": \"\(user)\"}"
            let run = try sandbox.run(
                "flags",
                "evaluate",
                "--flag",
                "habit-store-kill",
                "--context",
                context,
                "--file",
                "flags.json",
                "--format",
                "json"
            )
            return try run.json()["value"] as? Bool
        }
        try sandbox.run("flags", "kill", "--users", "ada,berta", "--file", "flags.json").expectSuccess()
        #expect(!sentinelIsThere(sandbox))
        #expect(try [isKilled("ada"), isKilled("berta"), isKilled("carl")] == [true, true, false])
        try sandbox.run("flags", "rearm", "--users", "ada", "--file", "flags.json").expectSuccess()
        #expect(try [isKilled("ada"), isKilled("berta"), isKilled("carl")] == [false, true, false])
        try sandbox.run("flags", "rearm", "--users", "berta", "--file", "flags.json").expectSuccess()
        #expect(try content(sandbox) == Self.text)
        try sandbox.run("flags", "kill", "--users", "a,,b", "--file", "flags.json").expectError(64)
        try sandbox.run("flags", "kill", "--users", "a", "--by", "sentinel").expectError(64)
    }

    @Test(arguments: ["cut", "empty", "directory", "missing", "unknown flag", "bad sibling", "link loop"])
    func killWorksWhateverTheFlagFileIs(kind: String) throws {
        let sandbox = try Sandbox()
        let path = sandbox.path("flags.json")
        switch kind {
        case "cut": try sandbox.write("flags.json", String(Self.text.prefix(200)))
        case "empty": try sandbox.write("flags.json", "")
        case "directory": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case "unknown flag": try sandbox.write("flags.json", #"{"flags": {}}"#)
        case "bad sibling":
            try sandbox.write("flags.json", Self.text.replacing(#""size": {"state""#, with: #""size": {"stat""#))
        case "link loop": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "flags.json")
        default: break
        }
        let before = FileManager.default.contents(atPath: path)
        let settings = try Self.settings(sandbox)
        let kill = try sandbox.run("flags", "kill", "--by", "flag", "--format", "json", environment: settings)
        #expect(kill.status == 0, "\(kill.errors)")
        let isFlagSet = kind == "bad sibling"
        #expect(try (kill.json()["flag"] as? String != nil) == isFlagSet)
        #expect(sentinelIsThere(sandbox) != isFlagSet)
        if !isFlagSet {
            #expect(kill.errors.contains("the flag is not set"))
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test func rearmLeavesTheSentinelWhereTheFlagCannotBeTakenBack() throws {
        let sandbox = try sandbox()
        let settings = try Self.settings(sandbox)
        try sandbox.run("flags", "kill", environment: settings).expectSuccess()
        try sandbox.write("flags.json", "{")
        try sandbox.run("flags", "rearm", environment: settings).expectError(65)
        #expect(sentinelIsThere(sandbox))
        try sandbox.run("flags", "rearm", "--by", "sentinel").expectSuccess()
        #expect(!sentinelIsThere(sandbox))
    }

    /// Everything is in one read-only folder: the flag cannot be set there, but a sentinel elsewhere can.
    @Test(.enabled(if: getuid() != 0, "needs a user whom permissions bind"))
    func aFolderThatMayNotBeWrittenLeavesTheSentinel() throws {
        let sandbox = try Sandbox()
        try sandbox.write("locked/flags.json", Self.text)
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: sandbox.path("locked"))
        defer {
            _ = try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: sandbox.path("locked"))
        }
        var settings = try Self.settings(sandbox)
        settings["HABITSTORE_FLAGS"] = sandbox.path("locked/flags.json")
        let kill = try sandbox.run("flags", "kill", environment: settings)
        #expect(kill.status == 0)
        #expect(sentinelIsThere(sandbox))
        try sandbox.run("flags", "set", "size", "--variant", "small", "--file", "locked/flags.json").expectError(74)
    }

    /// The file is replaced by renaming, so that a reader always sees a complete one.
    @Test func setThatIsKilledAtAnyTimeLeavesAWholeFile() throws {
        let sandbox = try sandbox()
        for round in 0..<20 {
            let variant = round % 2 == 0 ? "small" : "large"
            _ = try sandbox.start(["flags", "set", "size", "--variant", variant, "--file", sandbox.path("flags.json")])
                .kill(afterSeconds: Double(round) * 0.0015)
            let text = try content(sandbox)
            #expect(text == Self.text || text == Self.text.replacing(#""large","#, with: #""small","#))
        }
        try sandbox.run("flags", "set", "size", "--variant", "small", "--file", "flags.json").expectSuccess()
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path).sorted() == ["flags.json"])
    }
}
