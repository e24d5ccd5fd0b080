import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// `adopt` replaced the serving store with an older one without asking and without saying what was lost, both when the command could not open the
/// serving store and when the user meant a different store.
@Suite("Accepting a store", .timeLimit(.minutes(5)))
struct AcceptanceTests {
    private typealias V1 = HabitSchemaV1

    private enum OnlyV1: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [V1.self]
        static let stages: [MigrationStage] = []
    }

    private func adopt(_ user: StagedUser, _ side: StoreSide, isDry: Bool = false) throws -> [String] {
        let engine = side == .old ? user.old : user.new
        return try user.stores().adopt(engine, for: "alice", by: "a test", because: "a test", isDry: isDry)
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live, .rampdown, .complete])
    func isRefusedWhereANewerSoundStoreServes(stage: Stage) throws {
        let user = try StagedUser(at: stage) { try $0.save(Draft(content: "a")) }
        let other = try user.address(stage.authority.other)
        let copy = user.folder.path("copy")
        // Copy the log first: what a checkpoint moves out of it in the meantime is then in the file.
        for suffix in ["-wal", ""] where FileManager.default.fileExists(atPath: other.path + suffix) {
            try FileManager.default.copyItem(atPath: other.path + suffix, toPath: copy + suffix)
        }
        let again = try user.stores().store(for: "alice")
        try again.save(Draft(content: "b"))
        _ = again.waitUntilMirrorIsIdle(waitSeconds: 60)
        again.close()
        for suffix in ["", "-wal", "-shm", "-sound"] where FileManager.default.fileExists(atPath: other.path + suffix) {
            try FileManager.default.removeItem(atPath: other.path + suffix)
        }
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: copy + suffix) {
            try FileManager.default.copyItem(atPath: copy + suffix, toPath: other.path + suffix)
        }
        for isDry in [true, false] {
            let error = #expect(throws: HabitStoreError.self) { try adopt(user, stage.authority.other, isDry: isDry) }
            #expect(error?.code == .notAuthoritative, "\(String(describing: error))")
            #expect(error?.message.contains("is sound, serves this user, and would be given up") == true)
        }
        let served = try user.stores().store(for: "alice")
        defer { served.close() }
        #expect(try served.all(Draft.self).map(\.content).sorted() == ["a", "b"])
    }

    @Test func saysWhatIsGivenUpBeforeItIs() throws {
        let user = try StagedUser()
        try user.with { try $0.save(Draft(content: "a")) }
        let path = try user.address(.old).path
        let copy = user.folder.path("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try user.with { try $0.save(Draft(content: "b")) }
        for suffix in ["", "-wal", "-shm", "-sound"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.copyItem(atPath: copy, toPath: path)
        let loss = "given up: what was acknowledged after token 1 of the \(user.old) store, up to token 2"
        #expect(try adopt(user, .old, isDry: true) == [loss, "nothing was changed"])
        #expect(throws: HabitStoreError.self) { try user.stores().store(for: "alice") }
        #expect(try adopt(user, .old).first == loss)
        let served = try user.stores().store(for: "alice")
        defer { served.close() }
        #expect(try served.all(Draft.self).map(\.content) == ["a"])
    }

    /// A program that cannot open one of the stores decides nothing, whichever store it would accept.
    @Test(arguments: [Stage.dualwrite, .complete])
    func isRefusedByAProgramThatDoesNotHaveAStoresVersion(stage: Stage) throws {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        try store.save(V1.Habit(name: "h", tags: "a"))
        try user.bring(store, to: stage) { _ = try $0.all(V1.Habit.self) }
        store.close()
        let address = try user.address(stage.authority.other)
        _ = try StoreMigrator(address, engines: user.engines, plan: HabitMigrationPlan.self).run()
        let earlier = try user.stores(schema: V1.schema) {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = OnlyV1.self
        }
        let foreign = try user.stores(schema: Schema([Draft.self], version: .init(1, 0, 0))) {
            $0.otherVersions = .asWrittenByAnyApp
        }
        for stores in [earlier, foreign] {
            for engine in [user.old, user.new] {
                let error = #expect(throws: HabitStoreError.self) {
                    try stores.adopt(engine, for: "alice", by: "a test", because: "a test")
                }
                #expect(error?.code == .schemaMismatch, "\(engine): \(String(describing: error))")
                #expect(error?.message.contains("of a schema that this program does not have") == true)
            }
        }
        let app = try user.stores(schema: V1.schema).store(for: "alice")
        defer { app.close() }
        #expect(try app.all(V1.Habit.self).map(\.name) == ["h"])
    }
}
