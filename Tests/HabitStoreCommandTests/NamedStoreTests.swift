import Foundation
import Testing

/// Several stores of one user: a command concerns one of them, except for an erasure and a kill, which reach all.
struct NamedStoreTests {
    private func sandbox() throws -> (Sandbox, [String: String]) {
        let sandbox = try Sandbox()
        let environment = ["HABITSTORE_USER": "alice"]
        try sandbox.run(["habit", "add", "Run"], environment: environment).expectSuccess()
        try sandbox.run(["habit", "add", "Read", "--store-name", "notes"], environment: environment).expectSuccess()
        return (sandbox, environment)
    }

    @Test func aCommandIsAboutTheStoreThatIsNamed() throws {
        let (sandbox, environment) = try sandbox()
        let plain = try sandbox.run(["habit", "list"], environment: environment)
        #expect(plain.output.contains("Run") && !plain.output.contains("Read"))
        let named = environment.merging(["HABITSTORE_STORE_NAME": "notes"]) { $1 }
        let notes = try sandbox.run(["habit", "list"], environment: named)
        #expect(notes.output.contains("Read") && !notes.output.contains("Run"))
        #expect(FileManager.default.fileExists(atPath: sandbox.path("data/habitstore/stores/notes/users/u-616c696365")))
        let wrong = try sandbox.run(["habit", "list", "--store-name", "my notes"], environment: environment)
        #expect(wrong.status != 0 && wrong.errors.contains("a store cannot have this name"))
    }

    @Test func anErasureReachesAllStores() throws {
        let (sandbox, environment) = try sandbox()
        let erased = try sandbox.run(["user", "erase", "alice"], environment: environment)
        erased.expectSuccess()
        for name in ["", "stores/notes/"] {
            let folder = sandbox.path("data/habitstore/\(name)users/u-616c696365")
            #expect(!FileManager.default.fileExists(atPath: folder))
            #expect(erased.output.contains("removed: folder \(folder)"))
        }
    }

    @Test func aKillOfEverybodyTakesTheUsersOfAllStoresBackAndOneOfAStoreItsOwn() throws {
        let (sandbox, environment) = try sandbox()
        func isKilled(_ name: [String]) throws -> Bool {
            let status = try sandbox.run(["rollout", "status", "--format", "json"] + name, environment: environment)
            return status.output.contains("\"isKilled\" : true")
        }
        let notes = ["--store-name", "notes"]
        let first = try sandbox.run(["rollout", "kill", "--by", "sentinel"] + notes, environment: environment)
        first.expectSuccess()
        #expect(first.output.contains("1 of 1 user"))
        #expect(try !isKilled([]) && isKilled(notes))
        let all = try sandbox.run(["rollout", "kill", "--by", "sentinel"], environment: environment)
        all.expectSuccess()
        #expect(all.output.contains("2 of 2 users"))
        #expect(try isKilled([]) && isKilled(notes))
    }

    /// `rollout retire` left `--root` and `--store-name` out of the commands that it advised: pasted, they moved the user's other store.
    @Test(arguments: ["off", "killed", "put back"])
    func advisedCommandsAreAboutTheStoreOfTheCommandLine(_ state: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            "habits/habit-store.flagd.json",
            """
            {"flags": {
              "notes-store-stage": {"state": "ENABLED", "variants": {"it": "complete"}, "defaultVariant": "it"}
            }}
            """
        )
        let own = ["--root", sandbox.path("habits"), "--store-name", "notes"]
        try sandbox.run(["habit", "add", "Run"] + own).expectSuccess()
        let store = sandbox.path("habits/stores/notes/users/u-616c696365/store.sqlite")
        if state == "killed" { try sandbox.run(["rollout", "kill", "--by", "sentinel"] + own).expectSuccess() }
        if state == "put back" {
            try FileManager.default.copyItem(atPath: store, toPath: sandbox.path("copy"))
            try sandbox.run(["habit", "add", "Read"] + own).expectSuccess()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
            try FileManager.default.copyItem(atPath: sandbox.path("copy"), toPath: store)
        }
        var advised: [String] = []
        for command in ["status", "advance", "doctor", "retire", "retire --dry-run", "retire --all --format json"] {
            let run = try sandbox.run(["rollout"] + command.split(separator: " ").map(String.init) + own)
            advised += (run.output + run.errors).matches(of: /`habitstore [^`]*--user ([^`]*)`/).map { String($0.1) }
        }
        for words in advised.map({ $0.replacing("\\/", with: "/") }) {
            #expect(words.hasPrefix("alice " + own.joined(separator: " ")), "\(words)")
        }
        #expect(advised.count > 1)
    }
}
