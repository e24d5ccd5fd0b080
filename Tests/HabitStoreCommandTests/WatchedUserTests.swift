import Foundation
import Testing

/// The tracker's commands with `--watch`: they have a user open, like any program.
struct WatchedUserTests {
    private func answers(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private func habits(_ output: String) throws -> [String] {
        let last = try #require(try answers(output).last)
        return try #require(last["habits"] as? [[String: Any]]).compactMap { $0["name"] as? String }
    }

    private func watching(_ sandbox: Sandbox, _ arguments: String...) throws -> Following {
        let following = try Following(sandbox, arguments + ["--watch", "--format", "json"])
        try following.wait("the first answer") { $0.hasSuffix("\n") }
        return following
    }

    // MARK: Flags and the kill switch

    /// The command had read the kill switch once. After the re-arm it pulled the switch again for all users with the next move.
    @Test func aWatchThatBeganDuringAKillDoesNotPullItAgain() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: "off")
        try sandbox.run("rollout", "kill").expectSuccess()
        let watch = try watching(sandbox, "habit", "list")
        try sandbox.run("rollout", "rearm", "--all").expectSuccess()
        try sandbox.bring("alice", "bob", to: "dualwrite")
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try watch.wait("what was written after the re-arm") { $0.contains("Swim") }
        for user in ["alice", "bob"] {
            let status = try sandbox.status(of: user)
            #expect(status["stage"] as? String == "dualwrite", "\(user): \(status)")
            #expect(status["isKilled"] as? Bool == false, "\(user): \(status)")
        }
    }

    /// No user could be moved forward while being watched: the command moved its user back to the stage that the flags had when it started. And it
    /// did not
    /// act on a kill at all.
    @Test func aWatchedUserGoesForwardAndBackAsTheFlagsSay() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        let watch = try watching(sandbox, "habit", "list")
        try sandbox.bring("alice", to: "live")
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try watch.wait("a write at `live`") { $0.contains("Swim") }
        #expect(try sandbox.status()["stage"] as? String == "live")
        // Sets the flag and the sentinel file, and opens no user.
        try sandbox.run("flags", "kill").expectSuccess()
        let end = Date() + 20
        while try sandbox.status()["isKilled"] as? Bool != true, Date() < end { usleep(50_000) }
        #expect(try sandbox.status()["stage"] as? String == "off")
        try sandbox.run("habit", "add", "Read").expectSuccess()
        let output = try watch.wait("a write after the kill") { $0.contains("Read") }
        #expect(try habits(output) == ["Read", "Run", "Swim"])
    }

    // MARK: Names

    /// The name was looked up for each answer: a second habit with the same name, or a new name, ended the command.
    @Test func aHabitIsFollowedWhateverItsNameBecomes() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let entries = try watching(sandbox, "entry", "list", "Run")
        let chart = try watching(sandbox, "chart", "Run")
        try sandbox.run("habit", "edit", "Run", "--name", "Jog").expectSuccess()
        try chart.wait("the other name") { $0.contains("Jog") }
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("habit", "add", "Jog", "--same-name").expectSuccess()
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        let first = try #require(try answers(entries.output()).first?["habitID"] as? String)
        let second = habits.first { $0["name"] as? String == "Jog" && $0["id"] as? String != first }
        try sandbox.run("checkin", first.lowercased(), "--note", "mine").expectSuccess()
        let other = try #require(second?["id"] as? String)
        try sandbox.run("checkin", other.lowercased(), "--note", "another").expectSuccess()
        let output = try entries.wait("the entry") { $0.contains("mine") }
        #expect(!output.contains("another"))
        try sandbox.run("habit", "delete", first.lowercased()).expectSuccess()
        #expect(try entries.process.end().status == 64)
    }

    @Test func aTagThatGoesAndComesAgainEndsNothing() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run", "--tag", "a").expectSuccess()
        let watch = try watching(sandbox, "habit", "list", "--tag", "a")
        #expect(try habits(watch.output()) == ["Run"])
        try sandbox.run("tag", "delete", "a").expectSuccess()
        try watch.wait("an empty answer") { (try? habits($0)) == [] }
        try sandbox.run("habit", "edit", "Run", "--tag", "a").expectSuccess()
        try watch.wait("a habit again") { (try? habits($0)) == ["Run"] }
        try sandbox.run("habit", "list", "--tag", "b", "--watch").expectError(64, containing: "no tag")
    }

    // MARK: Ends

    /// A stopped command, which is how each of these ends, saved no recorded queries.
    @Test(arguments: [SIGTERM, SIGINT])
    func whatIsRecordedIsSavedByASignal(number: Int32) throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let watch = try watching(sandbox, "entry", "list", "Run", "--record-queries", "recorded.json")
        watch.process.signal(number)
        let end = try watch.process.end()
        #expect(end.isSignalled)
        #expect(end.status == number)
        #expect(try String(contentsOfFile: sandbox.path("recorded.json"), encoding: .utf8).contains("habitID"))
    }

    /// The command kept running without a reader until the next write.
    @Test(arguments: [
        ["habit", "list", "--watch"], ["query", "Habit", "--watch"], ["rollout", "status", "--watch"],
        ["history", "S", "--follow"],
    ])
    func aReaderThatGoesAwayEndsItWithoutAnotherWrite(arguments: [String]) throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        let pipe = Pipe()
        let process = try sandbox.start(
            arguments.map { $0 == "S" ? store : $0 },
            output: .handle(pipe.fileHandleForWriting)
        )
        try pipe.fileHandleForWriting.close()
        #expect(!pipe.fileHandleForReading.availableData.isEmpty)
        try pipe.fileHandleForReading.close()
        #expect(process.hasEnded(withinSeconds: 20))
        if process.isRunning { process.kill() }
        #expect(try process.end().status == 141)
    }

    /// "Resource temporarily unavailable", and 74: a program at the other end of the terminal or pipe had made it non-blocking.
    @Test func anOutputThatDoesNotWaitIsWaitedFor() throws {
        let sandbox = try Sandbox()
        // More than fits into a pipe.
        for word in ["long ", "text "] {
            try sandbox.run("draft", "add", String(repeating: word, count: 20_000)).expectSuccess()
        }
        let expected = try sandbox.run("draft", "list", "--format", "json").output
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0)
        let process = try sandbox.start(
            ["draft", "list", "--format", "json"],
            output: .handle(pipe.fileHandleForWriting)
        )
        try pipe.fileHandleForWriting.close()
        usleep(300_000)
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        #expect(try process.end().isSuccess)
        #expect(String(decoding: output, as: UTF8.self) == expected)
    }

    // MARK: Errors

    /// A token that the store has not reached was reported as "told already", in an object over several lines where each line should be a document.
    @Test func aTokenThatIsStillToComeIsRefusedOnOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        let run = try sandbox.run("history", store, "--follow", "--after", "999", "--format", "json")
        #expect(run.status == 64)
        #expect(run.errors.contains("the store's last token is 1"), "\(run.errors)")
        let errors = try answers(run.output)
        #expect(errors.count == 1)
        #expect((errors.first?["error"] as? [String: Any])?["exitCode"] as? Int == 64)
    }
}
