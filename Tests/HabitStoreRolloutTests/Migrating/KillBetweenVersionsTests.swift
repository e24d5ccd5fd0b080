import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// An app was killed in the middle of a migration, and a command whose plan ends earlier pulled the kill switch. The command was refused for the user
/// and the kill was not recorded: once the signal was removed, the user advanced as if nothing had happened.
@Suite("A kill between two versions of an app", .timeLimit(.minutes(5)))
struct KillBetweenVersionsTests {
    private typealias V1 = HabitSchemaV1

    /// The migration plan of the version 1 app and its command.
    private enum OnlyV1: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [V1.self]
        static let stages: [MigrationStage] = []
    }

    /// A user of version 1 at a stage whose other store a version 3 app migrated before it was killed.
    private func user(at stage: Stage) throws -> StagedUser {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        for number in 0..<3 { try store.save(V1.Habit(name: "h\(number)", tags: "a, b")) }
        try user.bring(store, to: stage) { _ = try $0.all(V1.Habit.self) }
        store.close()
        let other = try user.address(stage.authority == .old ? .new : .old)
        _ = try StoreMigrator(other, engines: user.engines, plan: HabitMigrationPlan.self).run()
        return user
    }

    /// The stores as a command of version 1 sees them.
    private func earlier(_ user: StagedUser, flags: FlagOrigin? = nil) throws -> UserStores {
        try user.stores(schema: V1.schema, flags: flags) {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = OnlyV1.self
        }
    }

    /// The app of version 1 writes again.
    private func write(_ name: String, _ user: StagedUser) throws {
        try user.stores(schema: V1.schema).with { try $0.save(V1.Habit(name: name, tags: "")) }
    }

    private func app(_ user: StagedUser) throws -> UserStore {
        try user.stores { $0.migrationPlan = HabitMigrationPlan.self }.store(for: "alice")
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live])
    func landsByACommandThatHasNeitherVersionToGoTo(stage: Stage) throws {
        let user = try user(at: stage)
        try user.want(stage.rawValue, kill: true)
        #expect(try earlier(user).applyKill("alice").isKilled)
        try user.want(stage.rawValue)
        let store = try app(user)
        defer { store.close() }
        #expect(try store.stage() == .off)
        #expect(try store.engine() == user.old)
        #expect(try store.all(Habit.self).count == 3)
        #expect(try user.stores().status(of: "alice").isKilled)
    }

    /// At `complete` the old store must first be brought up to date from the new one, which takes the plan: recording the kill does not.
    @Test(arguments: [true, false])
    func isRecordedWhereItCannotLandAndLandsWithTheNextOpening(bySentinel: Bool) throws {
        let user = try user(at: .complete)
        try write("after the move", user)
        let sentinel = URL(fileURLWithPath: RolloutFlags.sentinelPath(root: user.root))
        if bySentinel { try Data().write(to: sentinel) } else { try user.want("complete", kill: true) }
        let error = #expect(throws: HabitStoreError.self) { try earlier(user).applyKill("alice") }
        #expect(error?.underlying is RecordedKill, "\(String(describing: error))")
        #expect(error?.message.contains("the kill is recorded, and lands when a program opens the user") == true)
        #expect((KillSwitch(StoreRoot(user.root)).latched != nil) == bySentinel)
        if bySentinel { try FileManager.default.removeItem(at: sentinel) } else { try user.want("complete") }
        #expect(try user.stores().status(of: "alice").isKilled)
        let store = try app(user)
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
        #expect(try store.all(Habit.self).count == 4)
        #expect(try store.all(Habit.self).contains { $0.name == "after the move" })
    }

    /// An operator may re-arm a user whose kill has not taken effect.
    @Test func aRecordedKillIsForgottenByARearmOnly() throws {
        let user = try user(at: .complete)
        try write("after the move", user)
        try user.want("complete", kill: true)
        #expect(throws: HabitStoreError.self) { try earlier(user).applyKill("alice") }
        try user.want("complete")
        #expect(try user.stores().status(of: "alice").isKilled)
        let commands = try user.stores {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = HabitMigrationPlan.self
        }
        _ = try commands.applyKill("alice")
        let store = try app(user)
        defer { store.close() }
        #expect(try store.rearm(by: "a test"))
        #expect(try !user.stores().status(of: "alice").isKilled)
    }

    /// An app's opening on a separate thread.
    private final class Opening: Sendable {
        private let outcome = Mutex<Result<Void, any Error>?>(nil)

        var isOver: Bool { outcome.withLock { $0 != nil } }

        func end(_ result: Result<Void, any Error>) { outcome.withLock { $0 = result } }

        func wait() throws {
            while !isOver { Thread.sleep(forTimeInterval: 0.01) }
            try outcome.withLock { $0 }?.get()
        }
    }

    /// How long the plan's hook takes in the second store, which is the serving one.
    private static let slowSeconds = 2.0
    private static let calls = Mutex(0)

    private enum Slow: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [V1.self, HabitSchemaV3.self]
        static let stages = [
            MigrationStage.custom(
                fromVersion: V1.self,
                toVersion: HabitSchemaV3.self,
                willMigrate: nil,
                didMigrate: { _, _ in
                    let call = calls.withLock { calls -> Int in
                        calls += 1
                        return calls
                    }
                    if call == 2 { Thread.sleep(forTimeInterval: slowSeconds) }
                }
            )
        ]
    }

    /// During a slow migration a kill gave up after ten seconds and was not recorded.
    @Test func isRecordedBesideASlowMigration() throws {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        try store.save(V1.Habit(name: "h", tags: ""))
        try user.bring(store, to: .complete) { _ = try $0.all(V1.Habit.self) }
        store.close()
        Self.calls.withLock { $0 = 0 }
        let opening = Opening()
        Thread.detachNewThread {
            opening.end(
                Result {
                    try user.stores {
                        $0.migrationPlan = Slow.self
                        $0.stepLimitSeconds = 30
                    }
                    .store(for: "alice").close()
                }
            )
        }
        while Self.calls.withLock({ $0 }) < 2, !opening.isOver { Thread.sleep(forTimeInterval: 0.01) }
        // A separate flag file, which the app does not see: only the recorded kill reaches it.
        let killing = user.folder.path("kill.json")
        let flags = try String(contentsOfFile: user.flags, encoding: .utf8)
        try flags.replacingOccurrences(of: #""defaultVariant": "armed""#, with: #""defaultVariant": "killed""#)
            .write(toFile: killing, atomically: true, encoding: .utf8)
        let commands = try user.stores(flags: .file(killing)) {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = Slow.self
            $0.stepLimitSeconds = 0.2
        }
        do {
            #expect(try commands.applyKill("alice").isKilled)
        } catch let error as HabitStoreError {
            #expect(error.underlying is RecordedKill, "\(error)")
        }
        try opening.wait()
        let app = try user.stores { $0.migrationPlan = Slow.self }.store(for: "alice")
        defer { app.close() }
        #expect(try app.applyKill())
        #expect(try app.stage() == .off)
        #expect(try app.all(Habit.self).map(\.name) == ["h"])
    }
}
