import Foundation
import Testing

/// `habitstore rollout status`: everything known about users, without changing anything.
struct RolloutStatusTests {
    @Test func itShowsWhereEachUserIsAndChangesNothing() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.run("habit", "add", "Read", "--user", "bob").expectSuccess()
        for _ in 0..<3 { try sandbox.run("habit", "list").expectSuccess() }
        let before = try sandbox.state()
        let run = try sandbox.run("rollout", "status", "--format", "json")
        run.expectSuccess()
        let users = try run.list("users")
        #expect(users.map { $0["user"] as? String } == ["alice", "bob"])
        #expect(users.map { $0["stage"] as? String } == ["shadow", "off"])
        #expect(users.map { $0["wantedStage"] as? String } == ["shadow", "shadow"])
        #expect(users.map { $0["engine"] as? String } == ["sqlite", "sqlite"])
        #expect(users.map { $0["mirror"] as? String } == ["current", "none"])
        #expect(users.map { $0["lag"] as? Int } == [0, nil])
        let evidence = try #require(users[0]["evidence"] as? [String: Any])
        #expect(evidence["isIntact"] as? Bool == true)
        // Comparisons by short-lived processes count: each list queries habits and entries.
        #expect(evidence["cleanShadowReads"] as? Int == 6)
        #expect(evidence["upperBound"] as? Double == 0.5)
        let stages = try run.list("stages")
        #expect(stages.map { $0["users"] as? Int } == [1, 0, 1, 0, 0, 0])
        let text = try sandbox.run("rollout", "status")
        text.expectSuccess()
        #expect(text.output.contains("alice"))
        #expect(text.output.contains("50.00 %"))
        #expect(try sandbox.run("rollout", "status", "--user", "bob").output.contains("alice") == false)
        #expect(try sandbox.state() == before)
    }

    @Test func storesThatDifferEndItWithOne() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.run("checkin", "Run").expectSuccess()
        try sandbox.run("rollout", "status", "--all").expectSuccess()
        try sandbox.run("rollout", "status", "--all", "--user", "alice").expectError(64, containing: "not both")
        try sandbox.change("lmdb", sandbox.folder(of: "alice") + "/store.lmdb", removes: false)
        #expect(try sandbox.run("rollout", "verify").status == 1)
        let run = try sandbox.run("rollout", "status")
        #expect(run.status == 1)
        #expect(run.output.contains("the stores DIFFER"))
    }

    /// The flags give an earlier stage, the kill switch is pulled, and a mirror lags: each of these moves a user at the next opening.
    @Test func nobodyIsMovedByAsking() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.want(stage: "off")
        try sandbox.write("data/habitstore/habit-store.kill", "")
        let before = try sandbox.state()
        let status = try sandbox.status()
        #expect(status["stage"] as? String == "shadow")
        #expect(status["wantedStage"] as? String == "off")
        #expect(status["isKilled"] as? Bool == false)
        #expect((status["killTrigger"] as? String)?.contains("habit-store.kill") == true)
        #expect(try sandbox.state() == before)
    }

    @Test(arguments: [("shadow", "lmdb", "sqlite"), ("live", "lmdb", "lmdb"), ("live", "sqlite", "lmdb")])
    func aDamagedStoreIsNamedInItsRow(stage: String, damaged: String, engine: String) throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: stage)
        try sandbox.damage(damaged, of: "alice")
        let before = try sandbox.state()
        let run = try sandbox.run("rollout", "status", "--format", "json")
        #expect(run.status == 65, "\(run.errors)")
        let users = try run.list("users")
        #expect(users.map { $0["stage"] as? String } == [stage, stage])
        #expect(users.map { $0["engine"] as? String } == [engine, engine])
        #expect(users[0]["mirror"] as? String == "unknown")
        let problem = try #require((users[0]["problems"] as? [[String: Any]])?.first)
        #expect(problem["place"] as? String == damaged)
        #expect((users[1]["problems"] as? [Any])?.isEmpty == true)
        let text = try sandbox.run("rollout", "status")
        #expect(text.status == 65)
        #expect(text.output.contains("\(damaged): "))
        #expect(text.output.contains("bob"))
        #expect(try sandbox.state() == before)
    }

    @Test func aUserWhoIsNotThereIsAnErrorAndIsNotMade() throws {
        let sandbox = try Sandbox()
        try sandbox.run("rollout", "status", "--user", "nobody").expectError(74, containing: "no stores")
        #expect(try sandbox.state().isEmpty)
    }

    /// A misspelt root gave "no user has stores under the root", with 0, without naming the root.
    @Test func aRootThatIsNotThereIsAnErrorAndOneWithoutUsersIsNot() throws {
        let sandbox = try Sandbox()
        try sandbox.run("rollout", "status", "--root", "typo").expectError(74, containing: "typo")
        try FileManager.default.createDirectory(atPath: sandbox.path("empty"), withIntermediateDirectories: false)
        let empty = try sandbox.run("rollout", "status", "--root", "empty")
        empty.expectSuccess()
        #expect(empty.output == "no user has stores under empty\n")
        try sandbox.run("rollout", "status", "--root", "empty", "--store-name", "notes").expectError(
            74,
            containing: "stores/notes"
        )
        #expect(try sandbox.state().keys.sorted() == ["empty"])
    }
}
