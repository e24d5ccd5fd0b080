import Foundation
import Testing

/// A command that reports a kill reports whom it reached.
struct KillReachTests {
    private static let flags = """
        {"flags": {
          "habit-store-stage": {
            "state": "ENABLED", "variants": {"off": "off", "dualwrite": "dualwrite"}, "defaultVariant": "dualwrite"
          },
          "habit-store-kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}
        }}
        """
    /// A file without the kill flag.
    private static let stages = """
        {"flags": {"habit-store-stage": {
          "state": "ENABLED", "variants": {"off": "off", "dualwrite": "dualwrite"}, "defaultVariant": "dualwrite"
        }}}
        """

    private func isKilled(_ user: String, in root: String, _ sandbox: Sandbox) throws -> Bool? {
        // Programs act on the kill on their own; here the next command does.
        _ = try sandbox.run("habit", "list", "--root", root, "--user", user)
        let status = try sandbox.run("rollout", "status", "--root", root, "--user", user, "--format", "json")
        return try status.list("users").first?["isKilled"] as? Bool
    }

    private func begin(_ users: String..., in root: String, _ sandbox: Sandbox) throws {
        for user in users {
            try sandbox.run("habit", "add", "Run", "--root", root, "--user", user).expectSuccess()
            #expect(try sandbox.run("rollout", "advance", "--root", root, "--user", user).status == 0)
        }
    }

    /// `flags kill --file F` for another root created the sentinel file of the default root, which had no users: it said "killed for everybody", with
    /// 0, and
    /// all users of F's root continued.
    @Test func theFlagFileOfAnotherRootKillsThatRoot() throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("srv")
        let file = try sandbox.write("srv/habit-store.flagd.json", Self.stages)
        try begin("alice", "bob", in: root, sandbox)
        let kill = try sandbox.run("flags", "kill", "--file", file)
        #expect(kill.status == 0, "\(kill.errors)")
        #expect(
            kill.output.contains("by the sentinel file \(root)/habit-store.kill\n  it reaches 2 users"),
            "\(kill.output)"
        )
        #expect(try isKilled("alice", in: root, sandbox) == true)
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("data")))
        try sandbox.run("flags", "rearm", "--file", file, "--by", "sentinel").expectSuccess()
        #expect(!FileManager.default.fileExists(atPath: root + "/habit-store.kill"))
    }

    /// The root of such a file is unknown: the kill works through the flag alone, or it reaches no user, which is an error.
    @Test func aFlagFileOfNoKnownRootIsKilledByItsFlagOrNotAtAll() throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("etc/flags.json", Self.flags)
        let kill = try sandbox.run("flags", "kill", "--file", file, "--format", "json")
        kill.expectSuccess()
        let json = try kill.json()
        #expect(json["sentinel"] is NSNull)
        #expect(json["reached"] is NSNull)
        #expect(try sandbox.run("flags", "kill", "--file", file).output.contains("the programs that read this file"))
        try sandbox.write("etc/flags.json", Self.stages)
        let refused = try sandbox.run("flags", "kill", "--file", file)
        #expect(refused.status == 64 && refused.output.isEmpty)
        #expect(refused.errors.contains("no user is killed") && refused.errors.contains("rollout kill --root ROOT"))
        try sandbox.run("flags", "kill", "--file", file, "--by", "sentinel").expectError(64, containing: "--sentinel")
        #expect(try sandbox.state().keys.sorted() == ["etc", "etc/flags.json"])
        try sandbox.run("flags", "kill", "--file", file, "--by", "sentinel", "--sentinel", "etc/my.kill")
            .expectSuccess()
    }

    @Test(arguments: [["flags", "kill"], ["rollout", "kill"]])
    func aKillThatReachesNobodyIsNoSuccess(command: [String]) throws {
        let sandbox = try Sandbox()
        try sandbox.write("data/habitstore/habit-store.flagd.json", Self.flags)
        let everybody = try sandbox.run(command)
        #expect(everybody.status == 74)
        #expect(everybody.output.contains("no user has stores under \(sandbox.path("data/habitstore")) yet"))
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let misspelt = try sandbox.run(command + ["--users", "alcie"])
        #expect(misspelt.status == 74, "\(misspelt.output)")
        #expect(misspelt.output.contains("this user has no stores under"))
    }

    /// A comma can be part of an id: `--users smith,john` killed two other users instead of the one with this id.
    @Test(arguments: [["flags", "kill"], ["rollout", "kill"]])
    func idsInListsAreExact(command: [String]) throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("data/habitstore")
        try sandbox.write("data/habitstore/habit-store.flagd.json", Self.flags)
        try begin("smith", "john", "smith,john", "a,b", in: root, sandbox)
        func killed() throws -> [String] {
            try ["smith", "john", "smith,john", "a,b"].filter { try isKilled($0, in: root, sandbox) == true }
        }
        let ambiguous = try sandbox.run(command + ["--users", "smith,john"])
        ambiguous.expectError(64, containing: "`--user smith --user john`")
        #expect(try killed() == [])
        // No user has the id a or b.
        try sandbox.run(command + ["--users", "a,b"]).expectSuccess()
        #expect(try killed() == ["a,b"])
        try sandbox.run(command + ["--user", "smith,john"]).expectSuccess()
        #expect(try killed() == ["smith,john", "a,b"])
        try sandbox.run(command + ["--user", "smith", "--user", "john"]).expectSuccess()
        #expect(try killed().count == 4)
    }

    @Test(arguments: [("list.txt", "a,b\nsmith\n"), ("list.json", #"["a,b", "smith"]"#)])
    func aListMayBeAFile(name: String, text: String) throws {
        let sandbox = try Sandbox()
        let root = sandbox.path("data/habitstore")
        try sandbox.write("data/habitstore/habit-store.flagd.json", Self.flags)
        try begin("a,b", "smith", "john", in: root, sandbox)
        try sandbox.write(name, text)
        try sandbox.run("rollout", "kill", "--users-file", name).expectSuccess()
        #expect(try ["a,b", "smith", "john"].map { try isKilled($0, in: root, sandbox) } == [true, true, false])
        try sandbox.write(name, "[]")
        try sandbox.run("rollout", "kill", "--users-file", name).expectError(64, containing: "the list is empty")
    }

    /// Of several users the last one was used, and the others were silently ignored.
    @Test func aCommandAboutOneUserTakesOne() throws {
        let sandbox = try Sandbox()
        try sandbox.run("rollout", "status", "--user", "a", "--user", "b").expectError(64, containing: "given 2 times")
    }
}
