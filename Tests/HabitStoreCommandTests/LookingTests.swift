import Foundation
import Testing

/// Looking at a mistyped user created a folder and a store, and an erased user came back. Commands that look, and those that change something that
/// has to
/// exist, now create nothing and report that there is no such user.
struct LookingTests {
    /// Every command about an existing user.
    static let commands: [[String]] = [
        ["status"], ["chart", "Run"], ["search", "rain"],
        ["habit", "list"], ["habit", "show", "Run"], ["habit", "edit", "Run", "--name", "Walk"],
        ["habit", "archive", "Run"],
        ["habit", "delete", "Run"], ["checkin", "Run"],
        ["entry", "list", "Run"], ["entry", "edit", "12345678", "--note", "x"], ["entry", "delete", "12345678"],
        ["tag", "list"], ["tag", "rename", "a", "b"], ["tag", "delete", "a"],
        ["draft", "list"], ["draft", "show", "12345678"], ["draft", "edit", "12345678", "--text", "x"],
        ["draft", "delete", "12345678"],
        ["query", "Habit"], ["export", "out.json", "--format", "json"], ["migrate"], ["migrate", "--dry-run"],
        ["verify"],
        ["rollout", "status"], ["rollout", "advance"], ["rollout", "promote"], ["rollout", "demote"],
        ["rollout", "verify"],
        ["rollout", "rehearse"], ["rollout", "evidence"], ["rollout", "evidence", "verify"],
        ["rollout", "evidence", "reset", "--because", "x"], ["rollout", "evidence", "archive"], ["rollout", "doctor"],
        ["rollout", "doctor", "--fix"], ["rollout", "retire"], ["rollout", "retire", "--dry-run"],
    ]

    /// The commands that name the user in their first argument.
    static let named: [[String]] = [["user", "export"], ["user", "erase"], ["user", "erase", "--dry-run"]]

    private func expectNoSuchUser(_ run: CommandRun, _ command: [String]) {
        #expect(run.status != 0, "\(command): \(run.output)")
        #expect((run.output + run.errors).contains("there is no such user"), "\(command): \(run.output)\(run.errors)")
    }

    @Test(arguments: commands)
    func aMistypedUserIsNotMade(command: [String]) throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("root")
        expectNoSuchUser(try sandbox.run(command + ["--root", root, "--user", "alcie"]), command)
        let made = try sandbox.state().keys.sorted()
        #expect(made.isEmpty, "\(command)")
        try sandbox.run("habit", "add", "Run", "--root", root, "--user", "alice").expectSuccess()
        let before = try sandbox.state()
        let run = try sandbox.run(command + ["--root", root, "--user", "alcie"])
        expectNoSuchUser(run, command)
        #expect((run.output + run.errors).contains("did you mean \"alice\"?"), "\(command): \(run.output)\(run.errors)")
        #expect(try sandbox.state() == before, "\(command)")
    }

    @Test(arguments: named)
    func aMistypedArgumentMakesNoUser(command: [String]) throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("root")
        try sandbox.run("habit", "add", "Run", "--root", root, "--user", "alice").expectSuccess()
        let before = try sandbox.state()
        let arguments = Array(command.prefix(2)) + ["alcie"] + command.dropFirst(2) + ["--root", root]
        expectNoSuchUser(try sandbox.run(arguments), command)
        #expect(try sandbox.state() == before, "\(command)")
    }

    @Test(arguments: [
        ["status"], ["habit", "list"], ["entry", "list", "Run"], ["chart", "Run"], ["checkin", "Run"],
    ])
    func anErasedUserIsNotBroughtBack(command: [String]) throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        #expect(try sandbox.run("user", "erase", "alice").status == 0)
        expectNoSuchUser(try sandbox.run(command), command)
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder(of: "alice")))
    }

    /// `rollout retire --dry-run` opened users as an app does: it took them where the flags wanted them, and killed them if the switch was pulled.
    @Test(arguments: [
        ["rollout", "status"], ["rollout", "doctor"], ["rollout", "evidence"], ["rollout", "evidence", "verify"],
        ["rollout", "retire", "--dry-run"], ["user", "erase", "alice", "--dry-run"], ["migrate", "--dry-run"],
        ["rollout", "accept", "--user", "alice", "--engine", "lmdb", "--because", "x", "--dry-run"],
        ["fleet", "status"],
    ])
    func lookingMovesNobody(command: [String]) throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let flags = "data/habitstore/habit-store.flagd.json"
        func expectNothing(_ story: String) throws {
            let before = try sandbox.state()
            _ = try sandbox.run(command)
            #expect(try sandbox.state() == before, "\(command): \(story)")
        }
        // A flag file that puts everybody on the other engine moves a user at the next opening.
        try sandbox.want("lmdb")
        try expectNothing("another engine")
        #expect(try sandbox.run("habit", "list").status == 0)
        #expect(try sandbox.status()["engine"] as? String == "lmdb")
        try sandbox.want(stage: "off")
        try expectNothing("the way back")
        let armed = try String(contentsOfFile: sandbox.path(flags), encoding: .utf8)
        try sandbox.write(flags, armed.replacing(#""defaultVariant": "armed""#, with: #""defaultVariant": "killed""#))
        try expectNothing("the kill switch")
    }

    /// A dry run reports what an import would do for a user without records, and creates no user.
    @Test func aDryRunOfAnImportMakesNoUser() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run", "--user", "bob").expectSuccess()
        #expect(try sandbox.run("export", "export.json", "--format", "json", "--user", "bob").status == 0)
        let before = try sandbox.state()
        let run = try sandbox.run("import", "export.json", "--dry-run")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try sandbox.state() == before)
    }
}
