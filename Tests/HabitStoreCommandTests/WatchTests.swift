import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines
import Testing

/// `query --watch`.
struct WatchTests {
    private func lines(_ output: String) -> [Substring] { output.split(separator: "\n") }

    private func object(_ line: Substring?) throws -> [String: Any] {
        let line = try #require(line)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    // MARK: Queries

    /// By the user's name the answer comes from whichever store is current, and a change that leaves it as it is shows nothing.
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
}
