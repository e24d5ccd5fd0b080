import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@Suite("Migrating the schema that ships")
struct HabitMigrationTests {
    private typealias V1 = HabitSchemaV1
    private typealias V2 = HabitSchemaV2

    private let run = UUID(uuidString: "00000000-0000-0000-0000-000000000001") ?? UUID()
    private let read = UUID(uuidString: "00000000-0000-0000-0000-000000000002") ?? UUID()

    /// Two habits, three entries, one of them without a habit, and a deletion, in three transactions.
    private func fill(_ path: String, _ engine: MigratedEngine) throws {
        let store = try engine.open(path, V1.schema)
        defer { store.close() }
        let born = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
        try store.write(author: "app") { transaction in
            try transaction.insert(
                V1.Habit(id: run, name: "Run", createdAt: born, streak: 3, tags: " health,outdoors,, Health ,health")
            )
            try transaction.insert(
                V1.Habit(id: read, name: "Read", createdAt: born, tags: "outdoors , \u{65}\u{301}t\u{e9}")
            )
        }
        try store.write(author: "app") { transaction in
            for day in 0..<3 {
                try transaction.insert(
                    V1.Entry(
                        id: UUID.named("\(day)", in: run),
                        date: born.addingTimeInterval(Double(day) * 86_400),
                        note: day == 0 ? nil : "n\(day)",
                        value: day == 1 ? 0.1 : nil,
                        habitID: day == 2 ? nil : run
                    )
                )
            }
        }
        try store.write(author: "cleaner") { try $0.delete(V1.Entry.self, id: UUID.named("1", in: run)) }
    }

    @Test(arguments: MigratedEngine.allCases)
    func tagsBecomeRecordsAndEverythingElseStays(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        try fill(path, engine)
        let before = try engine.open(path, V1.schema, .readOnly)
        let (habits, entries) = (try before.all(V1.Habit.self), try before.all(V1.Entry.self))
        let (history, information) = (try before.history(), try before.information())
        before.close()

        let outcome = try engine.migrate(path, HabitMigrationPlan.self)
        #expect(outcome.steps.map(\.to) == [.init(2, 0, 0), .init(3, 0, 0)])
        #expect(outcome.backups.count == 1)

        let store = try engine.open(path, HabitSchema.current, .readWrite)
        defer { store.close() }
        let migrated = try store.all(Habit.self)
        #expect(migrated.map(\.id) == habits.map(\.id))
        #expect(migrated.map(\.name) == habits.map(\.name))
        #expect(migrated.map(\.createdAt) == habits.map(\.createdAt))
        #expect(migrated.map(\.streak) == habits.map(\.streak))
        #expect(migrated.allSatisfy { $0.category == nil && !$0.isArchived && $0.periodDays == 1 && $0.target == nil })
        #expect(
            try store.all(Entry.self)
                == entries.map { Entry(id: $0.id, date: $0.date, note: $0.note, value: $0.value, habitID: $0.habitID) }
        )
        let tags = Dictionary(uniqueKeysWithValues: try store.all(Tag.self).map { ($0.id, $0.name) })
        #expect(Set(tags.values) == ["health", "outdoors", "Health", "\u{e9}t\u{e9}"])
        #expect(Set(migrated[0].tagIDs.compactMap { tags[$0] }) == ["health", "outdoors", "Health"])
        #expect(Set(migrated[1].tagIDs.compactMap { tags[$0] }) == ["outdoors", "\u{e9}t\u{e9}"])
        #expect(try store.all(Draft.self).isEmpty)

        // The history continues: a consumer's token keeps its meaning, and the consumer is notified of the tags.
        let after = try store.history()
        #expect(Array(after.prefix(history.count)) == history)
        #expect(after.dropFirst(history.count).map(\.author) == ["migration 2.0.0 to 3.0.0"])
        #expect(after.last?.changes.map(\.entity) == ["Tag", "Tag", "Tag", "Tag", "Habit", "Habit"])
        #expect(try store.information().lineage == information.lineage)
        #expect(try store.information().storeID == information.storeID)
        #expect(try store.check { _ in } == [])
        #expect(try store.checkDigests() == [])
        try store.save(Draft(content: "still takes writes"))
        #expect(try store.currentToken().rawValue == information.token.rawValue + 2)
    }

    @Test func bothEnginesComeToTheSame() throws {
        let folder = try TemporaryFolder()
        var digests: [[RecordDigest]] = []
        var histories: [[HistoryChange]] = []
        for engine in MigratedEngine.allCases {
            let path = folder.path(engine.rawValue)
            try fill(path, engine)
            try engine.migrate(path, HabitMigrationPlan.self)
            let store = try engine.open(path, HabitSchema.current, .readOnly)
            digests.append(try store.digests())
            histories.append(try store.history().flatMap(\.changes))
            store.close()
        }
        #expect(digests[0] == digests[1])
        #expect(histories[0] == histories[1])
        #expect(digests[0].map(\.count) == [2, 2, 4, 0])
    }

    private enum ToTwo: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [HabitSchemaV1.self, HabitSchemaV2.self]
        static let stages = [HabitMigrationPlan.stages[0]]
    }

    private enum Directly: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [HabitSchemaV1.self, HabitSchemaV3.self]
        static let stages = [
            MigrationStage.custom(
                fromVersion: HabitSchemaV1.self,
                toVersion: HabitSchemaV3.self,
                willMigrate: nil,
                didMigrate: { before, store in
                    let habits = try before.all(HabitSchemaV1.Habit.self)
                    for name in Set(habits.flatMap { HabitMigrationPlan.tagNames(in: $0.tags) }) {
                        try store.insert(Tag(id: .named(name, in: HabitMigrationPlan.tagNamespace), name: name))
                    }
                    for old in habits {
                        guard var habit = try store.model(Habit.self, id: old.id) else { continue }
                        let names = HabitMigrationPlan.tagNames(in: old.tags)
                        habit.tagIDs = Set(names.map { .named($0, in: HabitMigrationPlan.tagNamespace) })
                        try store.save(habit)
                    }
                }
            )
        ]
    }

    @Test(arguments: MigratedEngine.allCases)
    func throughTheSecondVersionOrDirectlyIsTheSame(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        var digests: [[RecordDigest]] = []
        let ways: [[any SchemaMigrationPlan.Type]] = [
            [HabitMigrationPlan.self], [ToTwo.self, HabitMigrationPlan.self], [Directly.self],
        ]
        for (place, way) in ways.enumerated() {
            let path = folder.path("store-\(place)")
            try fill(path, engine)
            for plan in way {
                try engine.migrate(path, plan)
                #expect(try engine.outline(path).version == plan.current().version)
            }
            let store = try engine.open(path, HabitSchema.current, .readOnly)
            digests.append(try store.digests())
            store.close()
        }
        #expect(digests[0] == digests[1])
        #expect(digests[0] == digests[2])
    }

    @Test(arguments: MigratedEngine.allCases)
    func aStoreThatIsOpenedWithThePlanIsMigratedFirst(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        try fill(path, engine)
        engine.openWithPlan(path, isReadOnly: true).mustFail(with: .migrationRequired)
        let store = try engine.openWithPlan(path, isReadOnly: false).get()
        #expect(try store.all(Tag.self).count == 4)
        store.close()
        // A new store has nothing to migrate.
        let new = try engine.openWithPlan(folder.path("new"), isReadOnly: false).get()
        #expect(try new.all(Habit.self).isEmpty)
        new.close()
    }
}
