import Foundation
import HabitStoreTesting
import Testing

/// `habitstore rollout evidence`: what happened, and whether the evidence was altered.
struct RolloutEvidenceTests {
    private func file(_ sandbox: Sandbox) -> String { sandbox.folder(of: "alice") + "/evidence.jsonl" }

    @Test func itTellsTheWayAndHowALineIsCheckedByHand() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let before = try sandbox.state()
        let run = try sandbox.run("rollout", "evidence")
        run.expectSuccess()
        #expect(run.output.contains("off → dualwrite"))
        #expect(run.output.contains("dualwrite → shadow"))
        #expect(run.output.contains("\nintact: "))
        let json = try sandbox.run("rollout", "evidence", "--format", "json")
        let records = try json.list("records")
        #expect(records.map { $0["sequence"] as? Int } == Array(1...records.count))
        // The command in its output prints the hash of the last line.
        let command = try #require(run.output.split(separator: "`").dropFirst().first)
        let printed = try ChildProcess.run("/bin/sh", ["-c", String(command)]).output
        #expect(try printed.hasPrefix(#require(records.last?["hash"] as? String)))
        #expect(try sandbox.state() == before)
    }

    @Test func aChangedLineEndsItWithOneAndClosesTheGate() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "dualwrite")
        let text = try String(contentsOfFile: file(sandbox), encoding: .utf8)
        try text.replacing("promoted", with: "demoted").write(toFile: file(sandbox), atomically: true, encoding: .utf8)
        let run = try sandbox.run("rollout", "evidence")
        #expect(run.status == 1)
        #expect(run.output.contains("DAMAGED: line 2: its contents do not have the hash that it states"))
        let json = try sandbox.run("rollout", "evidence", "--format", "json")
        #expect(json.status == 1)
        #expect((try json.json()["damage"] as? [String: Any])?["line"] as? Int == 2)
        let status = try sandbox.run("rollout", "status")
        #expect(status.status == 1)
        #expect(status.output.contains("DAMAGED"))
        try sandbox.want(stage: "shadow")
        let promoted = try sandbox.run("rollout", "promote")
        #expect(promoted.status == 1)
        #expect(promoted.output.contains("the evidence is damaged in line 2"))
    }

    @Test func aKeySealsTheLinesAndTheOthersDoNotCount() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.run("rollout", "verify").expectSuccess()
        let key = String(repeating: "0123456789abcdef", count: 4)
        let path = sandbox.path("evidence.key")
        try Data("\(key)\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o644) == 0)
        let refused = try sandbox.run("rollout", "evidence", "--evidence-key-file", path)
        #expect(refused.status == 74 && refused.errors.contains("chmod 600") && !refused.errors.contains(key))
        #expect(chmod(path, 0o600) == 0)
        let plain = try sandbox.run("rollout", "evidence")
        plain.expectSuccess()
        #expect(!plain.output.contains("NOT COUNTED"))
        let run = try sandbox.run("rollout", "evidence", "--evidence-key-file", path)
        run.expectSuccess()
        #expect(run.output.contains("NOT COUNTED: ") && run.output.contains("without the seal"))
        func unsealed() throws -> Int? {
            let json = try sandbox.run("rollout", "evidence", "--format", "json", "--evidence-key-file", path).json()
            return (json["uncounted"] as? [String: Any])?["notSealed"] as? Int
        }
        let before = try #require(try unsealed())
        try sandbox.run("rollout", "verify", "--evidence-key-file", path).expectSuccess()
        #expect(try unsealed() == before)
        #expect(try String(contentsOfFile: file(sandbox), encoding: .utf8).contains(#","mac":""#))
        #expect(try sandbox.run("rollout", "doctor", "--evidence-key-file", path).output.contains("without the seal"))
    }

    /// The chain alone cannot show that its last lines are missing; the stores can.
    @Test func whatWasCutOffAtItsEndEndsItWithOne() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let lines = try String(contentsOfFile: file(sandbox), encoding: .utf8).split(separator: "\n")
        try Data("\(lines[0])\n".utf8).write(to: URL(fileURLWithPath: file(sandbox)))
        let run = try sandbox.run("rollout", "evidence")
        #expect(run.status == 1)
        #expect(run.output.contains("lines are missing at its end"))
        #expect(try sandbox.run("rollout", "evidence", "--format", "json").json()["isCutOff"] as? Bool == true)
        #expect(try sandbox.run("rollout", "status").status == 1)
        try FileManager.default.removeItem(atPath: file(sandbox))
        let gone = try sandbox.run("rollout", "evidence")
        #expect(gone.status == 1)
        #expect(gone.output.hasSuffix("lines are missing at its end\n"))
        try sandbox.want(stage: "live")
        #expect(try sandbox.run("rollout", "promote").output.contains("lines are missing at its end"))
    }

    @Test func theNewestRecordsAreListedAndAllAreChecked() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let all = try sandbox.run("rollout", "evidence", "--format", "json").list("records")
        let json = try sandbox.run("rollout", "evidence", "--limit", "2", "--format", "json")
        #expect(try json.list("records").map { $0["sequence"] as? Int } == [all.count - 1, all.count])
        #expect(try json.json()["recordCount"] as? Int == all.count)
        let run = try sandbox.run("rollout", "evidence", "--limit", "2")
        #expect(run.output.contains("the newest 2 of \(all.count) records are listed; --limit lists more"))
        #expect(!run.output.contains("off → dualwrite"))
        let text = try String(contentsOfFile: file(sandbox), encoding: .utf8)
        try text.replacing("promoted", with: "demoted").write(toFile: file(sandbox), atomically: true, encoding: .utf8)
        let damaged = try sandbox.run("rollout", "evidence", "--limit", "0")
        #expect(damaged.status == 1)
        #expect(damaged.output.contains("DAMAGED: line 2: its contents do not have the hash that it states"))
        #expect(try sandbox.run("rollout", "evidence", "--limit", "-1").status != 0)
    }

    @Test func whoHasNoneIsTold() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        #expect(try sandbox.run("rollout", "evidence").output == "there is no evidence yet\n")
    }

    @Test func allOfItIsCheckedInOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let before = try sandbox.state()
        let whole = try sandbox.run("rollout", "evidence", "verify")
        whole.expectSuccess()
        #expect(whole.output.hasPrefix("alice: whole: "))
        #expect(whole.output.hasSuffix(" records in 1 file\n"))
        #expect(try sandbox.run("rollout", "evidence", "verify", "--format", "json").json()["isWhole"] as? Bool == true)
        let short = try sandbox.run("rollout", "evidence", "archive")
        #expect(short.output == "alice: there is too little evidence to archive any\n")
        #expect(try sandbox.state() == before)
        let text = try String(contentsOfFile: file(sandbox), encoding: .utf8)
        try text.replacing("promoted", with: "demoted").write(toFile: file(sandbox), atomically: true, encoding: .utf8)
        let damaged = try sandbox.run("rollout", "evidence", "verify")
        #expect(damaged.status == 1)
        #expect(damaged.output.hasPrefix("alice: DAMAGED: line 2 of evidence.jsonl: "))
    }

    /// A deleted log kept its user at the same stage forever.
    @Test func evidenceThatWasLostIsBegunAnew() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let refused = try sandbox.run("rollout", "evidence", "reset", "--because", "a whim")
        // It ended with 64, which says that the arguments are wrong.
        #expect(refused.status == 1)
        #expect(refused.errors.contains("--force"))
        try FileManager.default.removeItem(atPath: file(sandbox))
        #expect(try sandbox.run("rollout", "evidence", "reset", "--because", " ").status != 0)
        let reset = try sandbox.run("rollout", "evidence", "reset", "--because", "a disk died")
        reset.expectSuccess()
        #expect(reset.output.hasPrefix("alice: shadow → off; the evidence starts again"))
        let list = try sandbox.run("rollout", "evidence")
        list.expectSuccess()
        #expect(list.output.contains("a disk died"))
        try sandbox.run("rollout", "evidence", "verify").expectSuccess()
        let again = try sandbox.run("rollout", "advance")
        again.expectSuccess()
        try sandbox.run("rollout", "status").expectSuccess()
    }
}
