import Foundation
import Testing

/// The kill switch where users have several stores: each has its own, and the root's is for all of them.
struct NamedStoreKillTests {
    private static let rootSentinel = "data/habitstore/habit-store.kill"
    private static let notesSentinel = "data/habitstore/stores/notes/habit-store.kill"
    private static let notes = ["--store-name", "notes"]

    /// alice has a store without a name and one of each of the names, all at `dualwrite`; the flag file has both stores' flags.
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

    /// With the name of a store in the settings `flags kill` killed for all stores, and `flags rearm` removed the root's sentinel file and
    /// took the root's flag back: everybody could go forward again, whom somebody had killed for another reason.
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
}
