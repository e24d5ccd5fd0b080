import Foundation
import Testing

/// `habitstore rollout evidence`: what happened, and whether somebody has changed it.
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
        // The command that it names prints the hash of the last line.
        let command = try #require(run.output.split(separator: "`").dropFirst().first)
        let shell = Process()
        let pipe = Pipe()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", String(command)]
        shell.standardOutput = pipe
        try shell.run()
        let printed = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        shell.waitUntilExit()
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
        #expect(run.output.contains("DAMAGED: line 1: its contents do not have the hash that it states"))
        let json = try sandbox.run("rollout", "evidence", "--format", "json")
        #expect(json.status == 1)
        #expect((try json.json()["damage"] as? [String: Any])?["line"] as? Int == 1)
        let status = try sandbox.run("rollout", "status")
        #expect(status.status == 1)
        #expect(status.output.contains("DAMAGED"))
        try sandbox.want(stage: "shadow")
        let promoted = try sandbox.run("rollout", "promote")
        #expect(promoted.status == 1)
        #expect(promoted.output.contains("the evidence is damaged in line 1"))
    }

    /// The chain alone cannot tell that its last lines are missing; the stores can.
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

    @Test func whoHasNoneIsTold() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "list").expectSuccess()
        #expect(try sandbox.run("rollout", "evidence").output == "there is no evidence yet\n")
    }
}
