import Foundation
import Testing

/// `habitstore user backup | restore | export | erase`.
struct UserCommandTests {
    private func habits(_ sandbox: Sandbox) throws -> Set<String> {
        let found = try sandbox.run("habit", "list", "--format", "json")
        #expect(found.status == 0, "\(found.errors)")
        return Set(try found.list("habits").compactMap { $0["name"] as? String })
    }

    @Test func aUserIsBackedUpErasedAndPutBack() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        let made = try sandbox.run("user", "backup", "alice", "backup", "--format", "json")
        made.expectSuccess()
        #expect(try made.json()["stage"] as? String == "shadow")
        try sandbox.run("user", "backup", "--verify", "backup").expectSuccess()
        try sandbox.run("user", "backup", "alice", "backup").expectError(64, containing: "is not overwritten")
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        let refused = try sandbox.run("user", "restore", "backup")
        refused.expectError(65, containing: "nothing was restored: the backup is at token 1")
        try sandbox.run("user", "restore", "backup", "--replace").expectError(64, containing: "--because")
        let restored = try sandbox.run(
            "user",
            "restore",
            "backup",
            "--replace",
            "--because",
            "a test",
            "--format",
            "json"
        )
        restored.expectSuccess()
        #expect(try restored.json()["stage"] as? String == "shadow")
        #expect((try restored.json()["aside"] as? [String])?.count == 2)
        #expect(try habits(sandbox) == ["Run"])
        #expect(try sandbox.run("rollout", "evidence", "list").output.contains("RESTORED"))
        try FileManager.default.moveItem(atPath: sandbox.path("backup"), toPath: sandbox.path("moved"))
        let dry = try sandbox.run("user", "erase", "alice", "--dry-run", "--format", "json")
        dry.expectSuccess()
        #expect(try dry.json()["isDryRun"] as? Bool == true)
        #expect(try habits(sandbox) == ["Run"])
        let erased = try sandbox.run("user", "erase", "alice")
        erased.expectSuccess()
        #expect(erased.output.contains("out of reach: a backup was made at"))
        #expect(erased.output.hasSuffix("erased\n"))
        try sandbox.run("user", "erase", "alice").expectError(74, containing: "nothing is kept")
        let again = try sandbox.run("user", "restore", "moved", "--user", "bob")
        again.expectError(64, containing: "another user's")
        try sandbox.run("user", "restore", "moved").expectSuccess()
        #expect(try habits(sandbox) == ["Run"])
    }

    @Test func theUserCanBeNamedByAnOption() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        try sandbox.run("user", "backup", "--user", "alice", "backup").expectSuccess()
        try sandbox.run("user", "export", "--user", "alice", "out.json").expectSuccess()
        try sandbox.run("user", "copies", "--user", "alice").expectSuccess()
        // The user from the environment does not count.
        for arguments in [[], ["alice", "--user", "alice"], ["--user", "alice", "--user", "bob"]] {
            try sandbox.run(["user", "erase"] + arguments).expectError(64, containing: "name one user")
        }
        #expect(try habits(sandbox) == ["Run"])
        try sandbox.run("user", "erase", "--user", "alice").expectSuccess()
    }

    @Test func aDamagedBackupIsSaidInOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        try sandbox.run("user", "backup", "alice", "backup").expectSuccess()
        let path = sandbox.path("backup/store.sqlite")
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        data[5_000] ^= 1
        try data.write(to: URL(fileURLWithPath: path))
        let verified = try sandbox.run("user", "backup", "--verify", "backup")
        #expect(verified.status == 1)
        #expect(verified.output == "DAMAGED: store.sqlite was changed after it was written\n")
        try sandbox.run("user", "restore", "backup").expectError(65, containing: "the backup is damaged")
        try sandbox.run("user", "restore", "nowhere").expectError(74, containing: "no backup here")
        try sandbox.run("user", "restore", "data").expectError(65, containing: "no manifest")
        try sandbox.run("user", "backup", "nobody", "other").expectError(74)
    }

    @Test func anExportHasEverythingAndItsRecordsCanBeImported() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.run("draft", "add", "a draft").expectSuccess()
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        try sandbox.run("habit", "delete", "Swim").expectSuccess()
        let exported = try sandbox.run("user", "export", "alice")
        exported.expectSuccess()
        let document = try exported.json()
        #expect(document["format"] as? String == "habitstore-user")
        #expect((document["status"] as? [String: Any])?["stage"] as? String == "shadow")
        #expect(
            (document["flags"] as? [[String: Any]])?.contains { $0["flag"] as? String == "habit-store-stage" } == true
        )
        let data = try #require(document["data"] as? [String: Any])
        #expect((data["records"] as? [String: [Any]])?["Habit"]?.count == 1)
        let history = try #require(document["history"] as? [[String: Any]])
        #expect(history.last?["token"] as? Int == document["token"] as? Int)
        let changes = history.flatMap { $0["changes"] as? [[String: Any]] ?? [] }
        #expect(changes.contains { $0["kind"] as? String == "delete" && $0["tombstone"] is [String: Any] })
        let evidence = try #require(document["evidence"] as? [[String: Any]])
        #expect(evidence.allSatisfy { ($0["line"] as? [String: Any])?["hash"] is String })
        let part = try JSONSerialization.data(withJSONObject: data)
        try part.write(to: URL(fileURLWithPath: sandbox.path("data.json")))
        let imported = try sandbox.run("import", "file", "data.json", "--into", "sqlite:imported.sqlite")
        #expect(imported.status == 0, "\(imported.errors)")
        let written = try sandbox.run("user", "export", "alice", "out.json")
        written.expectSuccess()
        #expect(try sandbox.permissions(of: "out.json") == 0o600)
        try sandbox.run("user", "export", "alice", "out.json").expectError(64, containing: "is not overwritten")
        try sandbox.run("user", "export", "nobody").expectError(74)
        try sandbox.run("user", "export", "alice", "nowhere/out.json").expectError(74)
    }

    /// A backup in `ROOT/stores` became a store, and one in `ROOT/users` a folder of unknown owner.
    @Test func aBackupIsNotMadeInsideOfTheRoot() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try FileManager.default.createSymbolicLink(
            atPath: sandbox.path("link"),
            withDestinationPath: sandbox.path("data/habitstore")
        )
        let before = try sandbox.state(of: "data")
        for path in ["data/habitstore/stores/xx", "data/habitstore", "link/new", "data/other/../habitstore/users/u-62"]
        {
            try sandbox.run("user", "backup", "alice", path).expectError(64, containing: "is inside the root")
        }
        #expect(try sandbox.state(of: "data") == before)
        try sandbox.run("user", "backup", "alice", "data/habitstore-backup").expectSuccess()
    }

    /// A process that was stopped with the user open is refused when it continues, and does not create the user again.
    @Test func aStoppedProcessIsFencedOut() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "live")
        let watching = try Following(sandbox, ["habit", "list", "--watch", "--format", "json"])
        try watching.wait("the first answer") { $0.contains("Run") }
        watching.process.signal(SIGSTOP)
        try sandbox.run("user", "erase", "alice").expectError(74, containing: "a process has the user open")
        #expect(FileManager.default.fileExists(atPath: sandbox.folder(of: "alice") + "/store.sqlite"))
        try sandbox.run("user", "erase", "alice", "--force").expectSuccess()
        watching.process.signal(SIGCONT)
        let end = ContinuousClock.now + .seconds(30)
        while watching.process.isRunning, ContinuousClock.now < end { usleep(50_000) }
        #expect(!watching.process.isRunning)
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder(of: "alice")))
    }

    /// Copies from before migrations stayed forever, and no command listed them.
    @Test func copiesOfBeforeMigrationsAreListedAndRemoved() throws {
        let sandbox = try Sandbox()
        for user in ["alice", "bob"] { try sandbox.run("habit", "add", "Run", "--user", user).expectSuccess() }
        let copy = sandbox.folder(of: "alice") + "/store.sqlite-2.0.0-at-7"
        try FileManager.default.copyItem(atPath: sandbox.folder(of: "alice") + "/store.sqlite", toPath: copy)
        let listed = try sandbox.run("user", "copies", "--all", "--quiet")
        listed.expectSuccess()
        #expect(listed.output.hasPrefix("alice: \(copy), version 2.0.0 at token 7, "), "\(listed.output)")
        let recent = try sandbox.run("user", "copies", "alice", "--remove", "--quiet")
        recent.expectSuccess()
        #expect(recent.output == "0 copies, 0 bytes, removed\n")
        let found = try sandbox.run("user", "copies", "alice", "--format", "json").list("users")
        #expect((found.first?["copies"] as? [[String: Any]])?.first?["path"] as? String == copy)
        try sandbox.run("user", "copies", "--all", "--remove", "--older-than", "0", "--quiet").expectSuccess()
        #expect(!FileManager.default.fileExists(atPath: copy))
        let missing = try sandbox.run("user", "copies", "nobody", "--quiet")
        #expect(missing.status == 74 && missing.output.hasPrefix("nobody: FAILED: "), "\(missing.output)")
        #expect(try sandbox.run("user", "copies").status == 64)
    }
}
