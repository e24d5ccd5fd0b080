import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Testing

@testable import NotesOperator

/// Users of an app with its own schema, moved and maintained by its command.
@Suite(.timeLimit(.minutes(10)))
struct UsersOfNotesTests {
    private let sandbox: NotesSandbox

    init() throws {
        sandbox = try NotesSandbox()
        try sandbox.want("off")
        try sandbox.run("add", "milk").succeeded()
    }

    private func stage(of user: String = "alice") throws -> String? {
        let status = try sandbox.run("rollout", "status", "--user", user, "--format", "json").succeeded().json()
        return (status["users"] as? [[String: Any]])?.first?["stage"] as? String
    }

    private func bring(to stage: String) throws {
        for next in [Stage.dualwrite, .shadow, .live, .rampdown, .complete] {
            try sandbox.want(next.rawValue)
            let advanced = try sandbox.run("rollout", "advance")
            #expect(advanced.status == 0, "to \(next): \(advanced.output)\(advanced.errors)")
            if next.rawValue == stage { return }
        }
    }

    private func notes() throws -> Int? {
        Int(try sandbox.run("query", "Note", "--count").succeeded().output.dropLast())
    }

    @Test func aUserIsMovedComparedKilledAndArmedAgain() throws {
        try bring(to: "live")
        #expect(try stage() == "live")
        try sandbox.run("add", "bread").succeeded()
        #expect(try sandbox.run("rollout", "verify").succeeded().output.hasPrefix("IDENTICAL"))
        try sandbox.run("rollout", "doctor").succeeded()
        #expect(try sandbox.run("rollout", "kill").succeeded().output.contains("1 of 1 user is on the old store"))
        #expect(try stage() == "off")
        let waiting = try sandbox.run("rollout", "promote")
        #expect(waiting.output.contains("arm it again with `notes-ops rollout rearm --user "), "\(waiting.output)")
        try sandbox.run("rollout", "rearm", "--all").succeeded()
        #expect(try notes() == 2)
        try bring(to: "complete")
        #expect(try stage() == "complete")
        #expect(try notes() == 2)
    }

    @Test func aFleetIsPlannedAndRun() throws {
        for user in ["bob", "carol"] { try sandbox.run("add", "milk", "--user", user).succeeded() }
        try sandbox.want("complete")
        try sandbox.write(
            "plan.json",
            #"{"waves": [{"name": "canary", "users": 1}, {"name": "all", "percent": 100}], "lookSeconds": 0.2, "ioPressure": null}"#
        )
        try sandbox.run("fleet", "run").failed(74, saying: "make one with `notes-ops fleet plan FILE`")
        let dry = try sandbox.run("fleet", "plan", "plan.json", "--dry-run")
        #expect(dry.status == 0 && dry.output.contains("nothing was written"), "\(dry.errors)")
        #expect(try sandbox.run("fleet", "plan", "plan.json").status == 0)
        #expect(try sandbox.run("fleet", "status").succeeded().output.contains("`notes-ops fleet run` starts"))
        let done = try sandbox.run("fleet", "run")
        #expect(done.status == 0 && done.output == "all waves are done\n", "\(done.errors)")
        for user in ["alice", "bob", "carol"] { #expect(try stage(of: user) == "complete") }
    }

    /// The roles of restored stores were set through the schema that ships, which took stores of a higher version for those of a newer program: a
    /// restore for any other app ended half done.
    @Test func aUserIsBackedUpAndPutBack() throws {
        try bring(to: "shadow")
        try sandbox.run("user", "backup", "alice", "backup").succeeded()
        try sandbox.run("user", "backup", "--verify", "backup").succeeded()
        try sandbox.run("add", "bread").succeeded()
        try sandbox.run("user", "restore", "backup", "--replace", "--because", "a test").succeeded()
        #expect(try notes() == 1)
        #expect(try stage() == "shadow")
        let export = try sandbox.run("user", "export", "alice").succeeded().json()
        let records = (export["data"] as? [String: Any])?["records"] as? [String: [Any]]
        #expect(records?["Note"]?.count == 1)
        // An erasure deletes backups that are still where they were made.
        try FileManager.default.moveItem(atPath: sandbox.path("backup"), toPath: sandbox.path("moved"))
        try sandbox.run("user", "erase", "alice").succeeded()
        try sandbox.run("user", "restore", "moved").succeeded()
        #expect(try notes() == 1)
    }

    @Test func flagsOfTheAppsOwnMoveAUserAndAreNotWritten() throws {
        let environment = ["NOTES_STAGE": "dualwrite"]
        let file = try String(contentsOfFile: sandbox.root + "/habit-store.flagd.json", encoding: .utf8)
        let advanced = try sandbox.run("rollout", "advance", environment: environment)
        #expect(advanced.status == 0, "\(advanced.output)\(advanced.errors)")
        #expect(try stage() == "dualwrite")
        for refused in [["--by", "flag"], ["--users", "alice"]] {
            for command in [["rollout", "kill"], ["flags", "kill"], ["flags", "rearm"]] {
                try sandbox.run(command + refused, environment: environment).failed(
                    64,
                    saying: "set it and take it back there"
                )
            }
        }
        // The sentinel file applies to all users, wherever the flags are.
        try sandbox.run("flags", "kill", environment: environment).succeeded()
        #expect(FileManager.default.fileExists(atPath: sandbox.root + "/habit-store.kill"))
        try sandbox.run("flags", "rearm", environment: environment).succeeded()
        #expect(!FileManager.default.fileExists(atPath: sandbox.root + "/habit-store.kill"))
        #expect(try sandbox.run("rollout", "kill", environment: environment).status == 0)
        #expect(try stage() == "off")
        try sandbox.run("rollout", "rearm", "--all", environment: environment).succeeded()
        #expect(try sandbox.run("rollout", "advance", environment: environment).status == 0)
        #expect(try stage() == "dualwrite")
        // A flag file given by name replaces the app's flags, and none of this changed it.
        #expect(try String(contentsOfFile: sandbox.root + "/habit-store.flagd.json", encoding: .utf8) == file)
        let named = try sandbox.run(
            "rollout",
            "status",
            "--flags",
            sandbox.root + "/habit-store.flagd.json",
            environment: environment
        )
        #expect(named.status == 0, "\(named.errors)")
    }

    @Test func aUserOfAnEarlierVersionIsMigrated() throws {
        let stores = try UserStores(root: sandbox.root, flags: nil, schema: NotesSchemaV1.schema)
        let store = try stores.store(for: "bob")
        try store.save(NotesSchemaV1.Note(title: "milk"))
        store.close()
        let migrated = try sandbox.run("migrate", "--root", sandbox.root, "--user", "bob").succeeded()
        #expect(migrated.output.contains("the stores of bob are of schema version 8.0.0"), "\(migrated.output)")
    }

    @Test func usersOfTheSchemaThatShipsAreRefusedInOneLine() throws {
        let stores = try UserStores(root: sandbox.path("habits"), flags: nil, schema: HabitSchema.current)
        let store = try stores.store(for: "alice")
        try store.save(Habit(name: "Run"))
        store.close()
        for command in [["add", "milk"], ["migrate"], ["rollout", "verify"]] {
            let refused = try sandbox.run(command + ["--root", sandbox.path("habits"), "--user", "alice"])
            refused.failed(65, saying: "schema version 3.0.0")
        }
    }
}
