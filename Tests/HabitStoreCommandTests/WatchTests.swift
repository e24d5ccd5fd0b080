import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Testing

/// `query --watch` and `rollout status --watch`.
struct WatchTests {
    private func lines(_ output: String) -> [Substring] { output.split(separator: "\n") }

    private func object(_ line: Substring?) throws -> [String: Any] {
        let line = try #require(line)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    // MARK: Queries

    /// With a user's name, the answer comes from the current store, and a change that does not affect it shows nothing.
    @Test func aUsersQueryGoesOnThroughASwitchOfEngines() throws {
        let sandbox = try Sandbox()
        try sandbox.want("sqlite")
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let query = try Following(sandbox, ["query", "Habit", "--sort", "name", "--watch", "--format", "json"])
        try query.wait("the first answer") { $0.contains("Run") }
        try sandbox.run("tag", "add", "health").expectSuccess()
        usleep(300_000)
        try sandbox.want("lmdb")
        #expect(try sandbox.run("habit", "list").errors.contains("switched from sqlite to lmdb"))
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        let output = try query.wait("what was written to the other engine") { $0.contains("Swim") }
        #expect(lines(output).count == 2, "\(output)")
        #expect(try object(lines(output).first)["count"] as? Int == 1)
        #expect(try object(lines(output).last)["count"] as? Int == 2)
    }

    @Test(arguments: [EngineName.sqlite, .lmdb])
    func aStoreOfAnySchemaIsFollowed(engine: EngineName) throws {
        let sandbox = try Sandbox()
        let address = StoreAddress(engine, path: sandbox.path("other"))
        let store = try Engines.standard.open(
            address,
            .create,
            schema: Schema([Draft.self], version: Schema.Version(7, 0, 0))
        )
        defer { store.close() }
        try store.write { try $0.save(Draft(content: "one")) }
        let watching = ["query", "Draft", "content CONTAINS \"o\"", "--watch", "--store", address.description]
        let query = try Following(sandbox, watching)
        let first = try query.wait("the first answer") { $0.contains("1 record\n") }
        #expect(!first.contains("\u{1B}"), "what drives a terminal goes to terminals only")
        try store.write { try $0.save(Draft(content: "three")) }
        usleep(300_000)
        try store.write { try $0.save(Draft(content: "two")) }
        let output = try query.wait("the second answer") { $0.contains("2 records\n") }
        #expect(output.hasPrefix(first + "\n"), "an empty line between two answers")
        #expect(!output.contains("three"))
        #expect(output.components(separatedBy: "\n\n").count == 2, "\(output)")
    }

    @Test(.enabled(if: Following.hasTerminals, "needs a terminal that only programs use"))
    func inATerminalAnAnswerTakesThePlaceOfTheOneBefore() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let query = try Following(sandbox, ["query", "Habit", "--count", "--watch"], to: .terminal)
        try query.wait("the first answer") { $0 == "\u{1B}[H\u{1B}[J1\r\n" }
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try query.wait("the second answer") { $0 == "\u{1B}[H\u{1B}[J1\r\n\u{1B}[H\u{1B}[J2\r\n" }
    }

    @Test func whatHasNoRecordsCannotBeFollowed() throws {
        let sandbox = try Sandbox()
        try sandbox.run("query", "Habit", "--watch", "--explain").expectError(64, containing: "--watch")
        try sandbox.run("query", "Habit", "--watch").expectError(74, containing: "no stores")
    }

    // MARK: Stages

    @Test func aMoveByAnotherProcessShowsInTheStatus() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "dualwrite")
        let status = try Following(sandbox, ["rollout", "status", "--watch", "--format", "json"])
        func wait(_ comment: Comment, until isWanted: ([String: Any]) -> Bool) throws {
            try status.wait(comment) { output in
                guard output.hasSuffix("\n"), let last = try? object(lines(output).last),
                    let user = (last["users"] as? [[String: Any]])?.first
                else { return false }
                return isWanted(user)
            }
        }
        try wait("the first look") { $0["stage"] as? String == "dualwrite" }
        let quiet = lines(status.output()).count
        usleep(2_500_000)
        #expect(lines(status.output()).count == quiet, "nothing has happened, and nothing is shown")
        try sandbox.want(stage: "shadow")
        try wait("what the flags want") { $0["wantedStage"] as? String == "shadow" }
        try sandbox.bring("alice", to: "shadow")
        try wait("the promotion") { $0["stage"] as? String == "shadow" }
        let token = try #require(try sandbox.status()["token"] as? Int)
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try wait("a write") { $0["token"] as? Int == token + 1 }
        try sandbox.run("rollout", "kill", "--user", "alice").expectSuccess()
        try wait("the kill") { $0["stage"] as? String == "off" && $0["isKilled"] as? Bool == true }
        let end = try status.interrupt()
        #expect(end.isSignalled)
        #expect(end.status == SIGINT)
    }

    @Test(.enabled(if: Following.hasTerminals, "needs a terminal that only programs use"))
    func theStatusOfUsersWhoComeShowsToo() throws {
        let sandbox = try Sandbox()
        let status = try Following(sandbox, ["rollout", "status", "--watch"], to: .terminal)
        try status.wait("nobody") { $0.contains("no user has stores under ") }
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let shown = try status.wait("a user") { $0.contains("alice") }
        // A look in the middle of the creation may show more than these two.
        let looks = shown.components(separatedBy: "\u{1B}[H\u{1B}[J").dropFirst()
        #expect(looks.first?.contains("no user has stores under ") == true, "\(shown)")
        #expect(zip(looks, looks.dropFirst()).allSatisfy { $0 != $1 }, "an unchanged status shows nothing: \(shown)")
    }

    /// An open file would keep an SQLite lock or an LMDB reader, and so block a move or the reuse of freed pages.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "needs the process's files listed"))
    func nothingIsKeptOpenBetweenTwoLooks() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let status = try Following(sandbox, ["rollout", "status", "--watch"])
        try status.wait("the first look") { $0.contains("alice") }
        let folder = sandbox.folder(of: "alice")
        let process = "/proc/\(status.process.id)"
        var left: [String] = []
        for _ in 0..<100 {
            usleep(20_000)
            left = try FileManager.default.contentsOfDirectory(atPath: process + "/fd")
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: process + "/fd/" + $0) }
            left += try String(contentsOfFile: process + "/maps", encoding: .utf8).split(separator: "\n").map(
                String.init
            )
            left = left.filter { $0.contains(folder) }
            if left.isEmpty { break }
        }
        #expect(left == [])
    }
}
