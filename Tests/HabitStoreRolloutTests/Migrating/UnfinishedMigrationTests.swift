import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// An app with a new schema version was killed between migrating a user's two stores: the mirror has the new version, the serving store does not.
/// `rollout kill` did not take such a user back, the doctor said that no store was authoritative, and operators who followed its advice to accept the
/// other one lost what had been written since.
@Suite("A migration that has ended between two stores", .timeLimit(.minutes(5)))
struct UnfinishedMigrationTests {
    private typealias V1 = HabitSchemaV1

    private static let stages: [Stage] = [.dualwrite, .shadow, .live, .complete]

    /// A user of version 1 at a stage, whose mirror already has version 3, and a later write to the serving store.
    private func user(
        at stage: Stage,
        by plan: any SchemaMigrationPlan.Type = HabitMigrationPlan.self
    ) throws -> (user: StagedUser, serving: EngineName) {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        for number in 0..<3 { try store.save(V1.Habit(name: "h\(number)", tags: "a, b")) }
        try user.bring(store, to: stage) { _ = try $0.all(V1.Habit.self) }
        _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
        store.close()
        let serving = stage.authority == .old ? user.old : user.new
        let other = try user.address(stage.authority == .old ? .new : .old)
        _ = try StoreMigrator(other, engines: user.engines, plan: plan).run()
        return (user, serving)
    }

    private func stores(_ user: StagedUser) throws -> UserStores {
        try user.stores {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = HabitMigrationPlan.self
            $0.advancesByItself = false
        }
    }

    @Test(arguments: stages)
    func whoServesIsSeen(stage: Stage) throws {
        let (user, serving) = try user(at: stage)
        let stores = try stores(user)
        let status = try stores.status(of: "alice")
        #expect(status.stage == stage && status.engine == serving, "\(status)")
        #expect(status.notes.contains { $0.contains("a migration has ended between them") }, "\(status.notes)")
        let findings = try stores.examine("alice")
        #expect(findings.map(\.kind) == [.unfinishedMigration], "\(findings)")
    }

    @Test(arguments: stages)
    func noOtherStoreIsAcceptedInItsPlace(stage: Stage) throws {
        let (user, serving) = try user(at: stage)
        let other = serving == user.old ? user.new : user.old
        let error = #expect(throws: HabitStoreError.self) {
            try stores(user).adopt(other, for: "alice", by: "me", because: "the doctor says so")
        }
        #expect(error?.code == .migrationRequired)
        let app = try user.stores(schema: V1.schema).store(for: "alice")
        defer { app.close() }
        #expect(try app.all(V1.Habit.self).count == 3)
    }

    @Test(arguments: stages)
    func aKillLands(stage: Stage) throws {
        let (user, _) = try user(at: stage)
        try user.want(stage.rawValue, kill: true)
        let stores = try stores(user)
        #expect(try stores.applyKill("alice").isKilled)
        let status = try stores.status(of: "alice")
        #expect(status.stage == .off && status.engine == user.old && status.isKilled, "\(status)")
        let findings = try stores.examine("alice")
        // At `live` the user is back on a store that has the new version already; the other one is migrated later.
        #expect(findings.map(\.kind) == (stage == .live ? [.unfinishedMigration] : []), "\(findings)")
        let app = try user.stores { $0.migrationPlan = HabitMigrationPlan.self }.store(for: "alice")
        #expect(try app.all(Habit.self).count == 3)
        app.close()
        let left = try stores.mend("alice")
        #expect(left.isEmpty, "\(left)")
    }

    @Test(arguments: stages)
    func theDoctorFinishesIt(stage: Stage) throws {
        let (user, serving) = try user(at: stage)
        let stores = try stores(user)
        let left = try stores.mend("alice")
        #expect(left.isEmpty, "\(left)")
        let status = try stores.status(of: "alice")
        #expect(status.stage == stage && status.engine == serving, "\(status)")
    }

    private enum ToV2: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = Array(HabitMigrationPlan.schemas.prefix(2))
        static let stages = HabitMigrationPlan.stages.filter { $0.to.versionIdentifier == .init(2, 0, 0) }
    }

    /// A command whose plan leads further than the app's, which has begun with the version between, does not migrate the user further: the app could
    /// no longer open the stores.
    @Test(arguments: [Stage.shadow, .live])
    func nobodyIsTakenPastTheVersionThatTheAppHasBegunWith(stage: Stage) throws {
        let (user, _) = try user(at: stage, by: ToV2.self)
        let stores = try stores(user)
        let findings = try stores.examine("alice")
        #expect(
            findings.map(\.kind) == [.unfinishedMigration] && findings.allSatisfy { !$0.canBeMended },
            "\(findings)"
        )
        try user.want(stage.rawValue, kill: true)
        _ = try? stores.applyKill("alice")
        _ = try? stores.mend("alice")
        _ = try? stores.store(for: "alice").close()
        for side in [StoreSide.old, .new] {
            #expect(try user.address(side).outline().version <= .init(2, 0, 0))
        }
    }

    /// A restore by a newer command called the existing stores unreadable, and asked whether to give up their data.
    @Test func aBackupOfAnOlderVersionIsPutBackByANewerProgram() throws {
        let user = try StagedUser()
        let app = try user.stores(schema: V1.schema).store(for: "alice")
        try app.save(V1.Habit(name: "h", tags: "a"))
        let backup = try user.stores(schema: V1.schema).backUp("alice", to: user.folder.path("backup")).backup
        try app.save(V1.Habit(name: "written since", tags: "a"))
        app.close()
        let error = #expect(throws: HabitStoreError.self) {
            try stores(user).restore(backup, by: "a test", because: "it was lost")
        }
        #expect(
            error?.code == .staleStore && error?.message.contains("cannot be read") == false,
            "\(String(describing: error))"
        )
        _ = try stores(user).restore(backup, replacing: true, by: "a test", because: "it was lost")
        let again = try user.stores(schema: V1.schema).store(for: "alice")
        defer { again.close() }
        #expect(try again.all(V1.Habit.self).map(\.name) == ["h"])
    }

    /// An operator's command of a newer version moves users whose apps are not updated yet.
    @Test func aUserOfAnOlderVersionIsMovedAsIs() throws {
        let user = try StagedUser()
        let app = try user.stores(schema: V1.schema).store(for: "alice")
        try app.save(V1.Habit(name: "h", tags: "a"))
        try user.bring(app, to: .shadow) { _ = try $0.all(V1.Habit.self) }
        app.close()
        let stores = try user.stores {
            $0.otherVersions = .asWritten
            $0.migrationPlan = HabitMigrationPlan.self
            $0.advancesByItself = false
        }
        let store = try stores.store(for: "alice")
        #expect(try store.verify().verdict == .match)
        try store.demote(to: .off)
        store.close()
        #expect(try user.address(.old).outline().version == V1.versionIdentifier)
        let again = try user.stores(schema: V1.schema).store(for: "alice")
        defer { again.close() }
        #expect(try again.all(V1.Habit.self).count == 1)
    }
}
