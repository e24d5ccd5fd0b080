import Foundation
import HabitStore
import HabitStoreSQLite
import HabitTracker
import RawStoreFiles
import Testing

/// `habitstore migrate`, and how other commands treat stores of older versions.
struct MigrateTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("fixtures")

    private func sandbox(with fixture: String) throws -> (Sandbox, String) {
        let sandbox = try Sandbox()
        let path = sandbox.path(fixture)
        try FileManager.default.copyItem(atPath: Self.fixtures.appendingPathComponent(fixture).path, toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return (sandbox, path)
    }

    @Test(arguments: ["v1.sqlite", "v1.lmdb", "v2.sqlite", "v2.lmdb"])
    func aDryRunSaysWhatWouldChangeAndChangesNothing(fixture: String) throws {
        let (sandbox, path) = try sandbox(with: fixture)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let run = try sandbox.run("migrate", path, "--dry-run")
        run.expectSuccess()
        #expect(run.output.contains("schema version 2.0.0 would become 3.0.0"))
        #expect(run.output.contains("Tag is new"))
        #expect(run.output.contains("would drop: Habit.tags, with a value in "), "\(run.output)")
        #expect(run.output.contains("sound: no record is lost; nothing was changed"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        let json = try sandbox.run("migrate", path, "--dry-run", "--format", "json").json()
        #expect(json["isSound"] as? Bool == true)
        #expect((json["entities"] as? [Any])?.count == 4)
        let drops = (json["stages"] as? [[String: Any]])?.flatMap { $0["drops"] as? [[String: Any]] ?? [] } ?? []
        #expect(drops.map { $0["attribute"] as? String } == ["tags"])
        #expect(drops.allSatisfy { ($0["records"] as? Int ?? 0) > 0 })
    }

    /// A dry run with nothing to do reported the findings of a check, and ended with exit code 1.
    @Test func aDryRunWithNothingToDoFindsNothing() throws {
        let sandbox = try Sandbox()
        let (store, _) = try sandbox.differingStores()
        let database = try RawDatabase(path: store)
        try database.execute("UPDATE habitstore_digest SET count = count + 1")
        database.close()
        #expect(try sandbox.run("check", store).status == 1)
        for dryRun in [["--dry-run"], []] {
            let run = try sandbox.run(["migrate", store] + dryRun)
            run.expectSuccess()
            #expect(run.output.contains("nothing to do"))
        }
    }

    @Test(arguments: ["v1.sqlite", "v2.lmdb"])
    func aStoreIsMigratedOnceAndServedThen(fixture: String) throws {
        let (sandbox, path) = try sandbox(with: fixture)
        let info = try sandbox.run("info", path)
        info.expectSuccess()
        #expect(info.output.contains("version \(fixture.dropFirst().first ?? "?").0.0"))
        // A copy has the same version.
        let copy = sandbox.path("copy")
        try sandbox.run("copy", path, "lmdb:\(copy)").expectSuccess()
        try sandbox.run("verify", path, copy).expectSuccess()
        let run = try sandbox.run("migrate", path)
        run.expectSuccess()
        #expect(run.output.contains("the copy of the old store: \(path)-2.0.0-at-710"))
        #expect(try sandbox.run("migrate", path).output.contains("nothing to do"))
        try sandbox.run("check", path).expectSuccess()
        #expect(try sandbox.run("query", "Tag", "--count", "--store", path).output == "10\n")
        // The copy has the version before the migration.
        #expect(try sandbox.run("info", path + "-2.0.0-at-710").output.contains("version 2.0.0"))
    }

    @Test func storesOfDifferentVersionsAreComparedThroughThePlan() throws {
        let (sandbox, path) = try sandbox(with: "v1.sqlite")
        let before = sandbox.path("before.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: before)
        try sandbox.run("migrate", path).expectSuccess()
        let same = try sandbox.run("verify", before, path)
        same.expectSuccess()
        #expect(same.output.contains("of schema version 1.0.0, through the migration plan"))
        let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
        try store.write { try $0.delete(Tag.self, where: #Predicate { $0.name == "0" }) }
        store.close()
        #expect(try sandbox.run("verify", before, path).status == 1)
        // Two stores of the same version are compared directly.
        let other = sandbox.path("other.sqlite")
        try FileManager.default.copyItem(atPath: before, toPath: other)
        let plain = try sandbox.run("verify", before, other)
        plain.expectSuccess()
        #expect(!plain.output.contains("through"))
    }

    @Test func aUserOfAnOlderVersionIsMigratedByTheFirstCommand() throws {
        let sandbox = try Sandbox()
        let folder = sandbox.path("data/habitstore/users/u-616c696365")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: Self.fixtures.appendingPathComponent("v1.sqlite").path,
            toPath: folder + "/store.sqlite"
        )
        try sandbox.write("data/habitstore/users/u-616c696365/user", "alice")
        let dry = try sandbox.run("migrate", "--user", "alice", "--dry-run")
        dry.expectSuccess()
        #expect(dry.output.contains("would become 3.0.0"))
        let list = try sandbox.run("tag", "list")
        #expect(list.status == 0)
        #expect(list.output.contains("outdoors"))
        #expect(list.errors.contains("migrated from schema version 1.0.0 to 3.0.0"))
        let again = try sandbox.run("migrate", "--user", "alice")
        again.expectSuccess()
        #expect(again.output == "the stores of alice are of schema version 3.0.0, at token 711\n")
        try sandbox.run("migrate").expectError(64, containing: "give a store")
    }

    @Test func aNewerStoreIsRefusedInOneLineAndNotTouched() throws {
        let sandbox = try Sandbox()
        let path = sandbox.path("newer.sqlite")
        let store = try SQLiteHabitStore(path: path, schema: Schema([Draft.self], version: .init(4, 0, 0)))
        try store.save(Draft(content: "from the future"))
        store.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for arguments in [["migrate", path], ["migrate", path, "--dry-run"]] {
            try sandbox.run(arguments).expectError(65, containing: "use a newer program")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        // Its metadata can still be read.
        try sandbox.run("check", path).expectSuccess()
        #expect(try sandbox.run("query", "Draft", "--count", "--store", path).output == "1\n")
    }
}
