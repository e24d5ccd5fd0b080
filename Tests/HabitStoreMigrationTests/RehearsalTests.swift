import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import Testing

@Suite("Rehearsing a migration that goes wrong")
struct MigrationRehearsalTests {
    /// A stage whose hook drops a habit and alters a name, as a bug would.
    private enum Lossy: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [HabitSchemaV1.self, HabitSchemaV2.self]
        static let stages = [
            MigrationStage.custom(
                fromVersion: HabitSchemaV1.self,
                toVersion: HabitSchemaV2.self,
                willMigrate: nil,
                didMigrate: { _, store in
                    try store.delete(HabitSchemaV2.Habit.self, where: #Predicate { $0.name == "a" })
                    for habit in try store.all(HabitSchemaV2.Habit.self) where habit.name == "b" {
                        var changed = habit
                        changed.name = "B"
                        try store.save(changed)
                    }
                }
            )
        ]
    }

    @Test func whatIsLostAndWhatIsAlteredIsCounted() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        let store = try SQLiteHabitStore(path: path, schema: HabitSchemaV1.schema)
        try store.insert(["a", "b", "c"].map { HabitSchemaV1.Habit(name: $0) })
        store.close()
        let rehearsal = try StoreMigrator(SQLiteHabitStore.self, path: path, plan: Lossy.self).rehearse(in: folder.path)
        #expect(!rehearsal.isSound)
        let habits = try #require(rehearsal.entities.first { $0.name == "Habit" })
        #expect((habits.before, habits.after, habits.missing, habits.unchanged) == (3, 2, 1, 1))
        #expect(habits.changed == ["name": 1])
        #expect(try SQLiteHabitStore.outline(ofStoreAt: path).version == HabitSchemaV1.versionIdentifier)
    }
}
