import Foundation
import Testing

/// Users' stores are separate under the root, whatever the users' ids are.
struct UserTests {
    private static let ids = [
        "alice", "Alice", "../x", "../../x", "/etc", ".", "a/b", "é", "e\u{301}", "👨‍👩‍👧", " ", "-", "\n", "\u{1B}[31m",
        String(repeating: "x", count: 10_240), String(repeating: "x", count: 10_239) + "y",
    ]

    @Test func noUserSeesAnothersHabitsAndNoneLeavesTheRoot() throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("some/root")
        for (number, id) in Self.ids.enumerated() {
            try sandbox.run("habit", "add", "habit \(number)", "--root", root, "--user=\(id)").expectSuccess()
        }
        for (number, id) in Self.ids.enumerated() {
            let habits = try sandbox.run("habit", "list", "--root", root, "--user=\(id)", "--format", "json").list(
                "habits"
            )
            #expect(habits.map { $0["name"] as? String } == ["habit \(number)"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path) == ["some"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("some")) == ["root"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["users"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/users").count == Self.ids.count)
    }

    @Test func anEmptyOrEndlessIDIsRefusedAndNothingIsMade() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "list", "--user", "").expectError(64, containing: "empty")
        try sandbox.run("habit", "list", "--user", String(repeating: "x", count: 70_000)).expectError(64)
        #expect(try sandbox.state().isEmpty)
    }
}
