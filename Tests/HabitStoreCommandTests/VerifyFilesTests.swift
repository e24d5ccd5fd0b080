import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

/// `habitstore verify` with rules, with output files, and with a time limit.
struct VerifyFilesTests {
    private static let lost = """
        , {"name": "lost", "reason": "known", "entity": "Entry", "kind": "missingInB", "expires": "9999-12-31"},
        {"name": "fewer", "reason": "known", "entity": "Entry", "kind": "count", "expires": "9999-12-31"}
        """

    @Test func rulesThatCoverEverythingEndWithTwo() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let all = try sandbox.ignoreRules("all.json", also: Self.lost)
        let run = try sandbox.run("verify", a, b, "--ignore", all)
        #expect(run.status == 2)
        #expect(run.errors.isEmpty)
        #expect(run.output.hasPrefix("IGNORED: 3 differences, all of them covered by rules\n"))
        let json = try sandbox.run("verify", a, b, "--ignore", all, "--format", "json")
        #expect(json.status == 2)
        #expect(try json.json()["verdict"] as? String == "ignored")
        #expect(try json.list("ignoreRules").map { $0["differences"] as? Int } == [1, 1, 1])
    }

    @Test func rulesThatCoverAPartLeaveTheRest() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let run = try sandbox.run("verify", a, b, "--ignore", try sandbox.ignoreRules("some.json"))
        #expect(run.status == 1)
        #expect(run.output.hasPrefix("DIFFERENT: 2 differences, and 1 that rules ignore\n"))
        #expect(run.output.contains("(ignored by notes)"))
        let old = try sandbox.ignoreRules("old.json", expires: "2020-01-01")
        let expired = try sandbox.run("verify", a, b, "--ignore", old)
        #expect(expired.output.hasPrefix("DIFFERENT: 3 differences\n"))
        #expect(expired.output.contains("  expired  "))
    }

    /// A store that was named twice, perhaps through a link, was silently reported as identical: the supposed copy was never read.
    @Test func aStoreThatIsComparedWithItselfIsToldSo() throws {
        let sandbox = try Sandbox()
        let (a, copy) = try sandbox.differingStores()
        try FileManager.default.createSymbolicLink(
            atPath: sandbox.path("link"),
            withDestinationPath: a
        )
        for other in [a, "link"] {
            let run = try sandbox.run("verify", a, other)
            #expect(run.status == 0 && run.output.contains("are the same file"))
        }
        #expect(try !sandbox.run("verify", a, copy).output.contains("the same file"))
    }

    @Test func aTimeLimitMayBeAnyNumberOfSeconds() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        #expect(try sandbox.run("verify", a, b, "--time-limit", "1e300").status == 1)
    }

    @Test func aFileOfRulesWithAMistakeIsRefused() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let rules = try sandbox.write("r.json", #"{"rules": [{"name": "n", "reason": "r", "entity": "Entry"}]}"#)
        try sandbox.run("verify", a, b, "--ignore", rules).expectError(64, containing: "never expires")
        let unknown = try sandbox.write(
            "u.json",
            #"{"rules": [{"name": "n", "reason": "r", "entity": "Entri", "expires": "2030-01-01"}]}"#
        )
        try sandbox.run("verify", a, b, "--ignore", unknown).expectError(64, containing: "Entri")
        try sandbox.run("verify", a, b, "--ignore", "none.json").expectError(74, containing: "none.json")
    }

    @Test func thePageAndTheRecordingKeepWordsToThemselves() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        #expect(try sandbox.run("verify", a, b, "--html", "r.html", "--record", "r.jsonl").status == 1)
        for file in ["r.html", "r.jsonl"] {
            let text = try String(contentsOfFile: sandbox.path(file), encoding: .utf8)
            for word in ["at dawn", "at dusk", "alert"] { #expect(!text.contains(word), "\(word) in \(file)") }
        }
        #expect(try sandbox.permissions(of: "r.jsonl") == 0o600)
        // Overwritten, and readable only by the owner as soon as they contain values.
        let shown = try sandbox.run("verify", a, b, "--html", "r.html", "--record", "r.jsonl", "--show-values")
        #expect(shown.status == 1)
        #expect(try sandbox.permissions(of: "r.html") == 0o600)
        let page = try String(contentsOfFile: sandbox.path("r.html"), encoding: .utf8)
        #expect(page.contains("alert(1)") && !page.contains("<script"))
        let recording = try String(contentsOfFile: sandbox.path("r.jsonl"), encoding: .utf8)
        #expect(!recording.contains("\"digest\""))
        let left = try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path)
        #expect(left.filter { $0.hasPrefix("r.") }.sorted() == ["r.html", "r.jsonl"])
    }

    /// With a umask of 000, the page without values and the sentinel were created writable for everyone.
    @Test func whatCommandsMakeIsForItsOwnerAloneWhateverTheUmaskIs() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let line = #"umask 000; "$1" verify "$2" "$3" --html r.html; "$1" flags kill --by sentinel --sentinel s.kill"#
        _ = try ChildProcess.run("/bin/sh", ["-c", line, "sh", Sandbox.binary(), a, b], in: sandbox.url)
        #expect(try sandbox.permissions(of: "r.html") == 0o600)
        #expect(try sandbox.permissions(of: "s.kill") == 0o600)
    }

    /// `--html` with a store's path by mistake would otherwise destroy that store.
    @Test func nothingElseIsWrittenOver() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let before = try sandbox.state()
        for option in ["--html", "--record"] {
            let run = try sandbox.run("verify", a, b, option, a)
            #expect(run.status == 64)
            #expect(run.errors.contains("is not overwritten"))
            // The report is still printed.
            #expect(run.output.hasPrefix("DIFFERENT: "))
            #expect(try sandbox.run("verify", a, b, option, ".").status == 64)
            #expect(try sandbox.run("verify", a, b, option, "none/file").status == 74)
        }
        #expect(try sandbox.state() == before)
    }

    @Test func theTimeLimitHasAnExitCodeOfItsOwn() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let run = try sandbox.run("verify", a, b, "--time-limit", "0.000000001")
        #expect(run.status == 75)
        #expect(run.output.hasPrefix("TIMED OUT"))
        #expect(try sandbox.run("verify", a, b, "--time-limit", "600").status == 1)
        for wrong in ["0", "-1", "nan", "inf", "soon"] {
            #expect(try sandbox.run("verify", a, b, "--time-limit=\(wrong)").status == 64, "\(wrong)")
        }
    }

    @Test func optionsForTwoStoresAreNotTakenForFixtures() throws {
        let sandbox = try Sandbox()
        try sandbox.run("verify", "--fixtures", "f", "--html", "r.html").expectError(64, containing: "--fixtures")
    }

    @Test func ignoredDifferencesOfAUserEndRolloutVerifyWithTwo() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "dualwrite")
        try sandbox.run("checkin", "Run").expectSuccess()
        try sandbox.bring("alice", to: "rampdown")
        try sandbox.change("sqlite", sandbox.folder(of: "alice") + "/store.sqlite", removes: false)
        try sandbox.write(
            "data/habitstore/habit-store.policy.json",
            """
            {"cleanShadowReads": 2, "ignoreRules": [
              {"name": "notes", "reason": "known", "entity": "Entry", "attribute": "note", "expires": "9999-12-31"}]}
            """
        )
        let verified = try sandbox.run("rollout", "verify")
        #expect(verified.status == 2, "\(verified.output)\(verified.errors)")
        #expect(verified.output.hasPrefix("IGNORED: 1 difference, "))
        try sandbox.want(stage: "complete")
        let refused = try sandbox.run("rollout", "promote", "--format", "json")
        #expect(refused.status == 1)
        #expect(try refused.list("reasons").map { $0["reason"] as? String } == ["ignoredRules"])
        let evidence = try sandbox.run("rollout", "evidence")
        #expect(evidence.output.contains("verified: ignored"))
        #expect(evidence.output.contains("0 differences, 0 anomalies, 1 rule"))
    }
}
