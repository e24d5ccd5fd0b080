import Foundation
import Testing

/// The kill switch for users with several stores: each store has its own, and the root's covers all of them.
struct NamedStoreKillTests {
    private static let rootSentinel = "data/habitstore/habit-store.kill"
    private static let notesSentinel = "data/habitstore/stores/notes/habit-store.kill"
    private static let notes = ["--store-name", "notes"]

    /// alice has an unnamed store and one with each of the names, all at `dualwrite`; the flag file has flags for both stores.
    private func sandbox(_ names: String...) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.askForLittle()
        let stages = Sandbox.stages.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
        let flags = ["habit", "notes"].map { name in
            """
            "\(name)-store-stage": {"state": "ENABLED", "variants": {\(stages)}, "defaultVariant": "dualwrite"},
            "\(name)-store-kill": {"state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"}
            """
        }
        try sandbox.write("data/habitstore/habit-store.flagd.json", "{\"flags\": {\(flags.joined(separator: ",\n"))}}")
        for name in [""] + names {
            try sandbox.run("habit", "add", "Run", "--store-name", name).expectSuccess()
            try sandbox.run("rollout", "advance", "--store-name", name).expectSuccess()
        }
        return sandbox
    }

    private func isThere(_ name: String, in sandbox: Sandbox) -> Bool {
        FileManager.default.fileExists(atPath: sandbox.path(name))
    }

    private func value(of flag: String, in sandbox: Sandbox) throws -> Bool? {
        try sandbox.run("flags", "evaluate", "--flag", flag, "--format", "json").json()["value"] as? Bool
    }

    private func status(_ name: String, in sandbox: Sandbox) throws -> [String: Any] {
        let run = try sandbox.run("rollout", "status", "--user", "alice", "--format", "json", "--store-name", name)
        return try #require(try run.list("users").first)
    }

    /// With the name of a store in the settings, `flags kill` killed all stores, and `flags rearm` removed the root's sentinel file and reset the
    /// root's
    /// flag: all users could go forward again, even those killed for another reason.
    @Test(arguments: ["option", "environment", "file"])
    func theTriggersAreThoseOfTheStoreThatIsNamed(by way: String) throws {
        let sandbox = try sandbox("notes")
        let options = way == "option" ? Self.notes : []
        let environment = way == "environment" ? ["HABITSTORE_STORE_NAME": "notes"] : [:]
        if way == "file" { try sandbox.write("config/habitstore/config.json", #"{"storeName": "notes"}"#) }
        let killed = try sandbox.run(["flags", "kill"] + options, environment: environment)
        killed.expectSuccess()
        #expect(killed.output.hasPrefix("killed for everybody in the store notes\n  by the flag notes-store-kill in "))
        #expect(isThere(Self.notesSentinel, in: sandbox) && !isThere(Self.rootSentinel, in: sandbox))
        #expect(try value(of: "notes-store-kill", in: sandbox) == true)
        #expect(try value(of: "habit-store-kill", in: sandbox) == false)

        try sandbox.run("flags", "kill", "--store-name", "").expectSuccess()
        let rearmed = try sandbox.run(["flags", "rearm"] + options, environment: environment)
        rearmed.expectSuccess()
        #expect(rearmed.output.contains("the flag notes-store-kill in "))
        #expect(!isThere(Self.notesSentinel, in: sandbox) && isThere(Self.rootSentinel, in: sandbox))
        #expect(try value(of: "notes-store-kill", in: sandbox) == false)
        #expect(try value(of: "habit-store-kill", in: sandbox) == true)
    }

    @Test func aFlagAndASentinelFileThatAreNamedCountBeforeThoseOfTheStore() throws {
        let sandbox = try sandbox("notes")
        let named = ["--flag", "habit-store-kill", "--sentinel", "there.kill"]
        try sandbox.run(["flags", "kill"] + named + Self.notes).expectSuccess()
        #expect(isThere("there.kill", in: sandbox) && !isThere(Self.notesSentinel, in: sandbox))
        #expect(try value(of: "habit-store-kill", in: sandbox) == true)
        #expect(try value(of: "notes-store-kill", in: sandbox) == false)
        try sandbox.run(["flags", "rearm"] + named + Self.notes).expectSuccess()
        #expect(!isThere("there.kill", in: sandbox))
        #expect(try value(of: "habit-store-kill", in: sandbox) == false)
    }

    /// A kill of all users ended at the first store that could not be read, without a report: the users of all later stores stayed where they were.
    @Test func aStoreThatCannotBeReadKeepsNobodyElseFromBeingTakenBack() throws {
        let sandbox = try sandbox("notes")
        try sandbox.write("data/habitstore/stores/aaa/users", "")
        let run = try sandbox.run("rollout", "kill")
        #expect(run.status == 74, "\(run.errors)")
        #expect(run.output.contains("the store aaa: NOT TAKEN BACK: "), "\(run.output)")
        #expect(run.output.hasSuffix("2 of 2 users are on the old store, 0 could not be taken back\n"))
        for name in ["", "notes"] {
            #expect(try status(name, in: sandbox)["stage"] as? String == "off")
            #expect(try status(name, in: sandbox)["isKilled"] as? Bool == true)
        }
        let json = try sandbox.run("rollout", "kill", "--format", "json")
        #expect(json.status == 74)
        #expect(try json.list("unread").map { $0["what"] as? String } == ["the store aaa"])
    }

    /// The sentinel file was created, but no user at rest was moved back.
    @Test func theStoresWithoutANameAreTakenBackWhereThoseWithNamesCannotBeListed() throws {
        let sandbox = try sandbox()
        try sandbox.write("data/habitstore/stores", "")
        let run = try sandbox.run("rollout", "kill")
        #expect(run.status == 74, "\(run.errors)")
        #expect(run.output.contains("the stores with names: NOT TAKEN BACK: "), "\(run.output)")
        #expect(run.output.hasSuffix("1 of 1 user is on the old store, 0 could not be taken back\n"))
        #expect(try status("", in: sandbox)["isKilled"] as? Bool == true)
    }

    /// A misspelt name gave "killed for everybody", with 0, and the users of the intended store stayed where they were.
    @Test func aStoreThatNobodyHasIsSaidToBeNone() throws {
        let sandbox = try sandbox("notes")
        for _ in 0..<2 {
            let run = try sandbox.run("rollout", "kill", "--store-name", "nots", "--by", "sentinel")
            #expect(run.status == 74, "\(run.errors)")
            #expect(run.output.contains("no user has a store nots under "), "\(run.output)")
            #expect(
                run.output.contains("named stores: notes; the kill applies to users who are added later"),
                "\(run.output)"
            )
            #expect(isThere("data/habitstore/stores/nots/habit-store.kill", in: sandbox))
        }
        let flags = try sandbox.run("flags", "kill", "--store-name", "nots", "--by", "sentinel")
        #expect(flags.status == 74 && flags.output.contains("named stores: notes"), "\(flags.output)\(flags.errors)")
        #expect(try status("notes", in: sandbox)["isKilled"] as? Bool == false)
        #expect(try sandbox.run("rollout", "kill", "--store-name", "notes", "--by", "sentinel").status == 0)
    }

    /// The store's flag and sentinel file were reset before the command reported that the root has to be re-armed first.
    @Test(arguments: [["--all"], ["--user", "alice"]])
    func aRearmThatTheRootForbidsChangesNothing(whom: [String]) throws {
        let sandbox = try sandbox("notes")
        try sandbox.run("rollout", "kill").expectSuccess()
        try sandbox.run(["rollout", "kill"] + Self.notes).expectSuccess()
        try sandbox.run(["rollout", "rearm"] + whom + Self.notes).expectError(64, containing: "remove it first")
        try sandbox.run("flags", "rearm").expectSuccess()
        try sandbox.run(["rollout", "rearm"] + whom + Self.notes).expectError(64, containing: "re-arm the root first")
        #expect(isThere(Self.notesSentinel, in: sandbox))
        #expect(try value(of: "notes-store-kill", in: sandbox) == true)
        try sandbox.run("rollout", "rearm", "--all").expectSuccess()
        try sandbox.run(["rollout", "rearm", "--all"] + Self.notes).expectSuccess()
        #expect(try status("notes", in: sandbox)["isKilled"] as? Bool == false)
    }

    /// `fleet status` still showed users at `dualwrite` whom a kill had moved back, and the ledger of a named store had no line about the kill.
    @Test func aFleetKnowsOfAKillThatHasLanded() throws {
        let sandbox = try sandbox("notes")
        try sandbox.write(
            "plan.json",
            #"{"stage": "dualwrite", "waves": [{"name": "all", "percent": 100}], "lookSeconds": 0.2, "ioPressure": null}"#
        )
        for name in ["", "notes"] {
            #expect(try sandbox.run("fleet", "plan", "plan.json", "--store-name", name).status == 0)
            #expect(try sandbox.run("fleet", "run", "--store-name", name).status == 0)
        }
        func stages(_ name: String) throws -> [String: Int]? {
            let waves = try sandbox.run("fleet", "status", "--format", "json", "--store-name", name).list("waves")
            return waves.first?["stages"] as? [String: Int]
        }
        for name in ["", "notes"] { #expect(try stages(name)?["dualwrite"] == 1) }
        try sandbox.run("rollout", "kill").expectSuccess()
        for name in ["", "notes"] {
            #expect(try stages(name)?["off"] == 1)
            #expect(try sandbox.run("fleet", "report", "--store-name", name).output.contains("a kill took effect"))
            #expect(try sandbox.run("fleet", "audit", "--store-name", name).status == 0)
        }
    }
}
