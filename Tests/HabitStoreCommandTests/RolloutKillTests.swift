import Foundation
import Testing

/// `habitstore rollout kill` and `rearm`: back immediately, onto a current store, and forward only by hand.
struct RolloutKillTests {
    private func habits(_ sandbox: Sandbox, _ user: String) throws -> [String?] {
        try sandbox.run("habit", "list", "--user", user, "--format", "json").list("habits").map {
            $0["name"] as? String
        }
    }

    @Test func everybodyIsTakenBackAlsoWhereTheNewStoreIsDamaged() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: "live")
        try sandbox.bring("carl", to: "off")
        try sandbox.want(stage: "live")
        for user in ["alice", "bob"] { try sandbox.run("habit", "add", "Read", "--user", user).expectSuccess() }
        try sandbox.damage("lmdb", of: "bob")
        let run = try sandbox.run("rollout", "kill")
        run.expectSuccess()
        #expect(run.output.hasPrefix("killed for everybody\n  by the flag habit-store-kill in "))
        #expect(run.output.contains("by the sentinel file"))
        #expect(run.output.hasSuffix("3 of 3 users are on the old store, 0 could not be taken back\n"))
        for user in ["alice", "bob"] {
            #expect(try sandbox.status(of: user)["stage"] as? String == "off")
            #expect(try sandbox.status(of: user)["isKilled"] as? Bool == true)
            #expect(try habits(sandbox, user) == ["Read", "Run"])
        }
        let kept = try sandbox.run("rollout", "promote", "--user", "alice")
        #expect(kept.status == 1)
        #expect(kept.output.contains("the kill switch is pulled"))
    }

    @Test func whoCannotBeTakenBackIsNamed() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: "live")
        try sandbox.want(stage: "complete")
        for _ in 0..<3 {
            for _ in 0..<3 { try sandbox.run("habit", "list", "--user", "bob").expectSuccess() }
            _ = try sandbox.run("rollout", "advance", "--user", "bob")
        }
        try #require(try sandbox.status(of: "bob")["stage"] as? String == "complete")
        try sandbox.run("habit", "add", "Read", "--user", "bob").expectSuccess()
        try sandbox.damage("lmdb", of: "bob")
        let run = try sandbox.run("rollout", "kill", "--format", "json")
        #expect(run.status == 65, "\(run.errors)")
        #expect(try run.json()["landed"] as? Int == 1)
        #expect(try run.json()["failed"] as? Int == 1)
        let users = try run.list("users")
        #expect(users.map { $0["isKilled"] as? Bool } == [true, false])
        #expect(users[0]["error"] is NSNull)
        #expect(users[1]["error"] is String)
        let text = try sandbox.run("rollout", "kill")
        #expect(text.output.contains("bob: NOT TAKEN BACK: "))
        #expect(text.output.hasSuffix("1 of 2 users are on the old store, 1 could not be taken back\n"))
    }

    /// If the file `user` was missing from a folder, a kill reported "0 of 0 users", with 0: its user stayed on the new engine.
    @Test func nobodyIsPassedOver() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "live")
        try FileManager.default.removeItem(atPath: sandbox.folder(of: "alice") + "/user")
        let run = try sandbox.run("rollout", "kill")
        run.expectSuccess()
        #expect(run.output.hasSuffix("1 of 1 user is on the old store, 0 could not be taken back\n"))
        #expect(try sandbox.status(of: "alice")["stage"] as? String == "off")
        let stray = sandbox.path("data/habitstore/users/h-6c")
        try FileManager.default.createDirectory(
            atPath: stray,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        let again = try sandbox.run("rollout", "kill")
        #expect(again.status == 74, "\(again.errors)")
        #expect(again.output.contains("h-6c: NOT TAKEN BACK: "), "\(again.output)")
        #expect(again.output.hasSuffix("1 of 2 users are on the old store, 1 could not be taken back\n"))
        for command in [["status"], ["doctor"], ["rearm", "--all"]] {
            let run = try sandbox.run(["rollout"] + command)
            #expect(run.status == 74, "\(command): \(run.output)")
            #expect((run.output + run.errors).contains("it is unknown whose folder this is"), "\(command)")
        }
    }

    /// Swift considers both ids equal. They shared a handle: a kill of both reported success, but one user stayed; and the flag's list of users had
    /// room for
    /// only one of them.
    @Test func idsThatDifferInTheirUnicodeFormOnlyAreTwoUsers() throws {
        let sandbox = try Sandbox()
        let (one, two) = ("\u{E9}", "e\u{301}")
        try sandbox.bring(one, two, to: "dualwrite")
        try sandbox.run("rollout", "kill", "--users", "\(one),\(two),\(one)").expectSuccess()
        for user in [one, two] {
            #expect(try sandbox.status(of: user)["stage"] as? String == "off")
            #expect(try sandbox.status(of: user)["isKilled"] as? Bool == true)
        }
        try sandbox.run("rollout", "rearm", "--user", one).expectSuccess()
        #expect(try sandbox.status(of: one)["isKilled"] as? Bool == false)
        #expect(try sandbox.status(of: two)["killTrigger"] is String)
        try sandbox.run("rollout", "kill", "--user", "").expectError(64, containing: "the user id is empty")
    }

    @Test func someAreKilledByTheFlagAndRearmedOneByOne() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: "dualwrite")
        try sandbox.run("rollout", "kill", "--users", "alice").expectSuccess()
        #expect(try sandbox.status(of: "alice")["stage"] as? String == "off")
        #expect(try sandbox.status(of: "bob")["stage"] as? String == "dualwrite")
        let rearmed = try sandbox.run("rollout", "rearm", "--user", "alice")
        rearmed.expectSuccess()
        #expect(rearmed.output.hasSuffix("1 re-armed, 0 had not been killed, 0 failed, of 1\n"))
        try sandbox.run("rollout", "advance").expectSuccess()
        #expect(try sandbox.status()["stage"] as? String == "dualwrite")
        try sandbox.run("rollout", "kill", "--users", "a", "--by", "sentinel").expectError(64)
    }

    @Test func rearmingIsExplicitAndAudited() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", "bob", to: "live")
        try sandbox.run("rollout", "kill").expectSuccess()
        // Resetting the triggers alone re-arms nothing: the kill is remembered.
        try sandbox.run("flags", "rearm").expectSuccess()
        let one = try sandbox.run("rollout", "rearm", "--user", "alice")
        #expect(one.status == 64)
        #expect(one.output.contains("re-arm the whole root first"), "\(one.output)")
        #expect(try sandbox.run("rollout", "advance").status == 1)
        let all = try sandbox.run("rollout", "rearm", "--all")
        all.expectSuccess()
        #expect(all.output.hasSuffix("2 re-armed, 0 had not been killed, 0 failed, of 2\n"))
        #expect(try sandbox.run("rollout", "rearm", "--all").output.hasPrefix("0 re-armed, 2 had not been killed"))
        for user in ["alice", "bob"] {
            let events = try sandbox.run("rollout", "evidence", "--user", user, "--format", "json").list("records")
                .compactMap { $0["event"] as? [String: Any] }
            let found = try #require(events.last { $0["kind"] as? String == "rearmed" })
            #expect(found["by"] as? String == NSUserName())
            #expect(events.contains { $0["kind"] as? String == "killed" })
            #expect(try sandbox.status(of: user)["isKilled"] as? Bool == false)
        }
    }

    @Test func killWorksWithoutAFlagFileAndWithoutUsers() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("rollout", "kill")
        #expect(run.status == 74)
        #expect(run.errors.contains("the flag is not set"))
        #expect(run.output.contains("by the sentinel file"))
        #expect(
            run.output.contains("no user has stores under \(sandbox.path("data/habitstore")) yet; the kill applies")
        )
        #expect(run.output.hasSuffix("0 of 0 users are on the old store, 0 could not be taken back\n"))
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let rearmed = try sandbox.run("rollout", "rearm", "--all")
        #expect(rearmed.status == 0)
        #expect(rearmed.output.contains("the sentinel file"))
    }
}
