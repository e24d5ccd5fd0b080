import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Testing

/// `rollout …` worked only for habits: for stores with an app's own schema `status` showed `?`, `kill` said NOT TAKEN BACK and `rearm` NOT RE-ARMED.
/// None
/// of them needs a schema.
struct OtherSchemaTests {
    private static let schema = Schema([Draft.self], version: Schema.Version(7, 0, 0))

    private func open<R>(_ sandbox: Sandbox, _ body: (UserStore) throws -> R) throws -> R {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        let stores = try UserStores(
            root: sandbox.path("data/habitstore"),
            flags: sandbox.path("data/habitstore/habit-store.flagd.json"),
            schema: Self.schema,
            options: options
        )
        let store = try stores.store(for: "alice")
        defer { store.close() }
        return try body(store)
    }

    private func want(_ sandbox: Sandbox, _ engine: String) throws {
        try sandbox.write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {
              "habit-store-backend": {"state": "ENABLED", "variants": {"v": "\(engine)"}, "defaultVariant": "v"},
              "habit-store-kill": {
                "state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"
              }
            }}
            """
        )
    }

    @Test func aKillAStatusAndARearmWorkOnStoresOfAnySchema() throws {
        let sandbox = try Sandbox()
        try want(sandbox, "sqlite")
        try open(sandbox) { try $0.save(Draft(content: "one")) }
        try want(sandbox, "lmdb")
        try open(sandbox) { try $0.save(Draft(content: "two")) }
        #expect(try sandbox.status()["stage"] as? String == "complete")
        let kill = try sandbox.run("rollout", "kill", "--user", "alice")
        kill.expectSuccess()
        #expect(kill.output.contains("1 of 1 user is on the old store"))
        #expect(try sandbox.status()["stage"] as? String == "off")
        try sandbox.run("rollout", "doctor").expectSuccess()
        try sandbox.run("rollout", "rearm", "--user", "alice").expectSuccess()
        #expect(try sandbox.status()["isKilled"] as? Bool == false)
        try want(sandbox, "sqlite")
        let contents = try open(sandbox) { try $0.all(Draft.self).map(\.content).sorted() }
        #expect(contents == ["one", "two"])
    }
}
