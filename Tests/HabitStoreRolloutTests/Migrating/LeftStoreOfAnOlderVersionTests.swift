import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// The store that does not serve had an older schema version than the serving one: it was restored from before the app's update, or only the serving
/// file was migrated by hand. Nothing ever migrated it: every kill and demotion failed, the app refused every write while a kill was pulled, `migrate
/// --user` reported both stores as migrated, and a mirror lagged forever.
@Suite("A store of an older version that does not serve", .timeLimit(.minutes(5)))
struct LeftStoreOfAnOlderVersionTests {
    private typealias V1 = HabitSchemaV1

    enum Way: CaseIterable {
        case putBack, onlyTheOtherMigrated
    }

    /// A user of version 1 at a stage, with one habit.
    private func userOfV1(at stage: Stage) throws -> StagedUser {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        try store.save(V1.Habit(name: "h", tags: "a, b"))
        try user.bring(store, to: stage) { _ = try $0.all(V1.Habit.self) }
        store.close()
        return user
    }

    /// A user whose serving store has version 3 and one more draft, and whose other store has version 1.
    private func user(at stage: Stage, _ way: Way) throws -> StagedUser {
        let user = try userOfV1(at: stage)
        let (serving, other) = try (user.address(stage.authority), user.address(stage.authority.other))
        switch way {
        case .putBack:
            let copy = user.folder.path("copy")
            try FileManager.default.copyItem(atPath: other.path, toPath: copy)
            let store = try app(user)
            #expect(store.waitUntilMirrorIsIdle(waitSeconds: 60))
            store.close()
            for suffix in ["", "-wal", "-shm", "-sound"]
            where FileManager.default.fileExists(atPath: other.path + suffix) {
                try FileManager.default.removeItem(atPath: other.path + suffix)
            }
            try FileManager.default.copyItem(atPath: copy, toPath: other.path)
        case .onlyTheOtherMigrated:
            _ = try StoreMigrator(serving, engines: user.engines, plan: HabitMigrationPlan.self).run()
        }
        let store = try app(user)
        defer { store.close() }
        try store.save(Draft(content: "written since"))
        return user
    }

    private func app(
        _ user: StagedUser,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStore {
        try user.stores {
            $0.migrationPlan = HabitMigrationPlan.self
            change(&$0)
        }
        .store(for: "alice")
    }

    private func commands(
        _ user: StagedUser,
        _ others: RolloutOptions.OtherVersions = .asWrittenByAnyApp
    ) throws -> UserStores {
        try user.stores {
            $0.migrationPlan = HabitMigrationPlan.self
            $0.otherVersions = others
        }
    }

    private func expectWhole(
        _ user: StagedUser,
        _ stage: Stage,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let store = try app(user)
        defer { store.close() }
        #expect(try store.stage() == stage, sourceLocation: sourceLocation)
        #expect(try store.all(Habit.self).map(\.name) == ["h"], sourceLocation: sourceLocation)
        #expect(try store.all(Draft.self).map(\.content) == ["written since"], sourceLocation: sourceLocation)
        try store.save(Draft(content: "continues"))
    }

    @Test(arguments: Way.allCases)
    func aKillLands(way: Way) throws {
        let user = try user(at: .complete, way)
        try user.want("complete", kill: true)
        #expect(try commands(user).applyKill("alice").isKilled)
        try expectWhole(user, .off)
    }

    @Test(arguments: Way.allCases)
    func theAppLandsAKillByItself(way: Way) throws {
        let user = try user(at: .complete, way)
        try user.want("complete", kill: true)
        let store = try app(user)
        #expect(try store.applyKill())
        store.close()
        try expectWhole(user, .off)
    }

    @Test(arguments: Way.allCases)
    func aDemotionLandsAndSaysWhy(way: Way) throws {
        let user = try user(at: .complete, way)
        try user.want("off")
        let store = try commands(user, .asWritten).store(for: "alice")
        try store.demote(to: .off, because: "the new engine is slow")
        store.close()
        let reasons = try EvidenceLog(user.directory).read().records.map { record -> String? in
            guard case .stageChanged(.complete, .off, _, _, .demoted, _, let because) = record.event else { return nil }
            return because
        }
        #expect(reasons.compactMap { $0 } == ["the new engine is slow"])
        try expectWhole(user, .off)
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live, .complete], Way.allCases)
    func aMigrationOfTheUserCoversIt(stage: Stage, way: Way) throws {
        let user = try user(at: stage, way)
        let migrated = try commands(user, .migrated).migrate("alice")
        let version = HabitSchema.current.version
        #expect(migrated.stores.map(\.version) == [version, version], "\(migrated)")
        #expect(migrated.stores.allSatisfy { $0.failure == nil }, "\(migrated)")
        for side in [StoreSide.old, .new] { #expect(try user.address(side).outline().version == version) }
        try expectWhole(user, stage)
    }

    /// The migration closed the store that an app in the same process had open.
    @Test func aStoreThatTheAppHasOpenStaysOpen() throws {
        let user = try user(at: .complete, .onlyTheOtherMigrated)
        let stores = try commands(user, .migrated)
        let app = try stores.store(for: "alice")
        #expect(try stores.migrate("alice").stores.allSatisfy { $0.failure == nil })
        #expect(try app.all(Draft.self).map(\.content) == ["written since"])
        app.close()
        try expectWhole(user, .complete)
    }

    @Test(arguments: [Stage.dualwrite, .shadow], Way.allCases)
    func theMirrorIsBroughtAlong(stage: Stage, way: Way) throws {
        let user = try user(at: stage, way)
        let store = try app(user)
        defer { store.close() }
        try store.save(Habit(name: "mirrored"))
        #expect(store.waitUntilMirrorIsIdle(waitSeconds: 60))
        #expect(try store.verify().verdict == .match)
        #expect(try user.withStore(.new) { try $0.all(Habit.self).map(\.name).sorted() } == ["h", "mirrored"])
    }

    /// The failure is reported for the store that could not be migrated, with the version that it still has.
    @Test func aStoreThatCannotBeMigratedNowIsNamed() throws {
        let user = try user(at: .complete, .onlyTheOtherMigrated)
        let (plan, old) = (FaultPlan(), user.old)
        plan.inject(Fault(.fail(.inputOutput), on: [.open]))
        let stores = try user.stores { options in
            options.migrationPlan = HabitMigrationPlan.self
            options.opener = { address, access, schema in
                guard address.engine == old else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(plan, path: address.path) { try address.open(access, schema: schema) }
            }
        }
        let migrated = try stores.migrate("alice").stores
        #expect(migrated.map(\.engine) == user.engines.names)
        let left = try #require(migrated.first { $0.engine == old })
        #expect(left.version == V1.versionIdentifier && left.failure?.code == .inputOutput, "\(left)")
        #expect(migrated.first { $0.engine != old }?.failure == nil, "\(migrated)")
    }

    /// A left store that hung while a migration was due blocked the serving one: the app could neither read nor write.
    @Test(arguments: [Stage.complete, .dualwrite, .shadow])
    func aStoreThatHangsHoldsNobodyUp(stage: Stage) throws {
        let user = try userOfV1(at: stage)
        let (plan, hanging) = (FaultPlan(), stage.authority == .old ? user.new : user.old)
        defer { plan.heal() }
        plan.inject(Fault(.hang, on: [.open, .replicaRead, .replicate]))
        let store = try app(user) { options in
            options.stepLimitSeconds = 0.3
            options.lockWaitSeconds = 0.6
            options.mirror.waitSeconds = 0.1
            options.mirror.closingWaitSeconds = 0.1
            options.opener = { address, access, schema in
                guard address.engine == hanging else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(plan, path: address.path) { try address.open(access, schema: schema) }
            }
        }
        #expect(try store.all(Habit.self).map(\.name) == ["h"])
        try store.save(Draft(content: "written since"))
        plan.heal()
        store.close()
        // It is migrated once it responds.
        let migrated = try commands(user, .migrated).migrate("alice").stores
        #expect(migrated.allSatisfy { $0.failure == nil && $0.version == HabitSchema.current.version }, "\(migrated)")
        try expectWhole(user, stage)
    }
}
