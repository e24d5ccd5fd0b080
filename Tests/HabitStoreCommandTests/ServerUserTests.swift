import Foundation
import HabitStoreTesting
import Testing
import Trials

/// Commands for users with stores on servers, by their names in `--servers`.
@Suite(.enabled(if: !StoreUnderTest.serverURIs.isEmpty, "no PostgreSQL server was started; see scripts/postgres.sh"))
struct ServerUserTests {
    /// Commands that read a user's store directly did not know the servers' names, and reported that there is no such engine.
    @Test func whatLooksIntoAUsersStoreKnowsTheServers() throws {
        let sandbox = try Sandbox()
        let uri = try #require(StoreUnderTest.serverURIs.first)
        #expect(try sandbox.run("server", "prepare", uri).status == 0)
        try sandbox.write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {"habit-store-old": {"state": "ENABLED", "variants": {"eu": "eu"}, "defaultVariant": "eu"}}}
            """
        )
        let environment = ["HABITSTORE_USER": UUID().uuidString, "HABITSTORE_SERVERS": "eu=\(uri)"]
        func run(_ arguments: String...) throws -> CommandRun { try sandbox.run(arguments, environment: environment) }
        #expect(try run("habit", "add", "Run").status == 0)
        let root = ["--root", sandbox.path("data/habitstore")]
        let query = try sandbox.run(["query", "Habit"] + root, environment: environment)
        #expect(query.status == 0, "\(query.errors)")
        #expect(query.output.contains("Run"))
        let export = try sandbox.run(
            ["export", sandbox.path("all.json"), "--format", "json"] + root,
            environment: environment
        )
        #expect(export.status == 0, "\(export.errors)")
        #expect(export.output.contains("1 Habit"))
        let migration = try sandbox.run(["migrate", "--dry-run"] + root, environment: environment)
        #expect(migration.status == 0, "\(migration.errors)")
        let verification = try sandbox.run(["verify"] + root, environment: environment)
        #expect(verification.errors.contains("eu store only"))
    }

    /// A user's store on a server is erased there, including stores set aside next to it, and can be exported; a backup of it is up to the server, so
    /// it is
    /// refused in one line.
    @Test func aUserOnAServerIsExportedAndErasedThere() throws {
        let sandbox = try Sandbox()
        let uri = try #require(StoreUnderTest.serverURIs.first)
        #expect(try sandbox.run("server", "prepare", uri).status == 0)
        try sandbox.write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {"habit-store-old": {"state": "ENABLED", "variants": {"eu": "eu"}, "defaultVariant": "eu"}}}
            """
        )
        let user = UUID().uuidString
        let environment = ["HABITSTORE_USER": user, "HABITSTORE_SERVERS": "eu=\(uri)"]
        func run(_ arguments: String...) throws -> CommandRun { try sandbox.run(arguments, environment: environment) }
        // The flags do not apply, which gives a note.
        #expect(try run("habit", "add", "Run").status == 0)
        func asked() throws -> Int32 { try run("query", "Habit", "--root", sandbox.path("data/habitstore")).status }
        try run("user", "backup", user, "backup").expectError(64, containing: "back up the server")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("backup")))
        let exported = try run("user", "export", user)
        exported.expectSuccess()
        #expect((try exported.json()["history"] as? [Any])?.count == 1)
        #expect(try asked() == 0)
        let dry = try run("user", "erase", user, "--dry-run")
        dry.expectSuccess()
        #expect(dry.output.contains("would be removed: store "))
        #expect(try asked() == 0)
        let erased = try run("user", "erase", user)
        erased.expectSuccess()
        #expect(erased.output.contains("out of reach: what the server of eu also keeps"))
        #expect(try asked() == 74)
        try run("user", "erase", user).expectError(74, containing: "nothing is kept")
        // Known only on the server, as from another machine's root.
        #expect(try run("habit", "add", "Run").status == 0)
        try FileManager.default.removeItem(atPath: sandbox.folder(of: user))
        try run("user", "erase", user).expectSuccess()
        #expect(try asked() == 74)
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder(of: user)))
    }
}
