import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@Suite("How a migration stage changes records")
struct MigrationRuleTests {
    private enum Lightweight: OneStagePlan {
        static let stage = MigrationStage.lightweight(fromVersion: NotesV1.self, toVersion: NotesV2.self)
    }

    private enum LightweightToUnique: OneStagePlan {
        static let stage = MigrationStage.lightweight(fromVersion: NotesV1.self, toVersion: NotesV3.self)
    }

    private enum Custom: OneStagePlan {
        static let stage = MigrationStage.custom(
            fromVersion: NotesV1.self,
            toVersion: NotesV3.self,
            willMigrate: { store in
                for note in try store.all(NotesV1.Note.self) where note.title == nil {
                    try store.save(NotesV1.Note(id: note.id, title: "note \(note.rank)", rank: note.rank))
                }
            },
            didMigrate: { before, store in
                try before.enumerate(FetchDescriptor<NotesV1.Note>()) { old in
                    guard var note = try store.model(NotesV3.Note.self, id: old.id) else { return true }
                    note.rank = "№ \(old.rank)"
                    try store.save(note)
                    return true
                }
            }
        )
    }

    private struct Refusal: Error {}

    private enum Failing: OneStagePlan {
        static let stage = MigrationStage.custom(
            fromVersion: NotesV1.self,
            toVersion: NotesV3.self,
            willMigrate: { store in
                for note in try store.all(NotesV1.Note.self) { try store.delete(note) }
            },
            didMigrate: { before, _ in
                #expect(try before.fetchCount(FetchDescriptor<NotesV1.Note>()) == 3)
                throw Refusal()
            }
        )
    }

    private func make(_ folder: TemporaryFolder, _ engine: MigratedEngine, _ titles: [String?]) throws -> String {
        let path = folder.path("store")
        let store = try engine.open(path, NotesV1.schema)
        defer { store.close() }
        try store.write(author: "app") { transaction in
            for (rank, title) in titles.enumerated() {
                try transaction.insert(NotesV1.Note(title: title, rank: rank))
            }
            try transaction.insert(NotesV1.Author(name: "Ann"))
        }
        return path
    }

    @Test(arguments: MigratedEngine.allCases)
    func whatTheDeclarationsSayIsDone(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a", nil, ""])
        let outcome = try engine.migrate(path, Lightweight.self)
        // Dropped attributes are reported with the number of values, and the copy still has them.
        let drops = outcome.steps.flatMap(\.drops).map(\.description)
        #expect(drops == ["Note.obsolete, with a value in 3 records"])
        #expect(outcome.backups == ["\(path)-1.0.0-at-1"])
        let copy = try engine.open("\(path)-1.0.0-at-1", NotesV1.schema, .readOnly)
        #expect(try copy.all(NotesV1.Note.self).map(\.obsolete) == ["x", "x", "x"])
        copy.close()
        #expect(outcome.steps.map(\.rewrittenRecords) == [4])
        #expect(
            Set(outcome.steps.flatMap(\.changes)) == [
                "Note.rank becomes Note.place", "Note.title may no longer be nil, \"untitled\" where it was",
                "Note.mood is new, nil for existing records", "Note.obsolete is removed", "Author becomes Person",
                "Box is new",
            ]
        )
        let store = try engine.open(path, NotesV2.schema, .readWrite)
        defer { store.close() }
        let notes = try store.all(NotesV2.Note.self).sorted { $0.place < $1.place }
        #expect(notes.map(\.title) == ["a", "untitled", ""])
        #expect(notes.map(\.place) == [0, 1, 2])
        #expect(notes.allSatisfy { $0.mood == nil })
        #expect(try store.all(NotesV2.Person.self).map(\.name) == ["Ann"])
        try store.save(NotesV2.Box())
        #expect(try store.history().count == 2)
        #expect(try store.check { _ in } == [])
        #expect(try store.checkDigests() == [])
        let explanation = try store.explain(FetchDescriptor<NotesV2.Note>(predicate: #Predicate { $0.place == 1 }))
        #expect(explanation.accessPath.contains("index Note(place)"))
    }

    @Test(arguments: MigratedEngine.allCases)
    func hooksRunOnBothSidesOfTheChange(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a", nil, "c"])
        try engine.migrate(path, Custom.self)
        let store = try engine.open(path, NotesV3.schema, .readOnly)
        defer { store.close() }
        let notes = try store.all(NotesV3.Note.self).sorted { $0.title < $1.title }
        #expect(notes.map(\.title) == ["a", "c", "note 1"])
        #expect(notes.map(\.rank) == ["№ 0", "№ 2", "№ 1"])
        let history = try store.history()
        #expect(history.map(\.author) == ["app", "migration 1.0.0 to 3.0.0", "migration 1.0.0 to 3.0.0"])
        #expect(history.map(\.changes.count) == [4, 1, 3])
        #expect(try store.check { _ in } == [])
    }

    @Test(arguments: MigratedEngine.allCases)
    func aHookThatThrowsUndoesItsStage(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a", "b", "c"])
        #expect(throws: Refusal.self) { try engine.migrate(path, Failing.self) }
        let outline = try engine.outline(path)
        #expect(outline.version == NotesV1.versionIdentifier)
        #expect(outline.migrations == 0)
        let store = try engine.open(path, NotesV1.schema, .readWrite)
        #expect(try store.fetchCount(FetchDescriptor<NotesV1.Note>()) == 3)
        #expect(try store.history().count == 1)
        #expect(try store.check { _ in } == [])
        try store.save(NotesV1.Note(title: "d", rank: 3))
        store.close()
        // The remains of the attempt do not interfere.
        try engine.migrate(path, Custom.self)
        let migrated = try engine.open(path, NotesV3.schema, .readOnly)
        #expect(try migrated.fetchCount(FetchDescriptor<NotesV3.Note>()) == 4)
        #expect(try migrated.check { _ in } == [])
        migrated.close()
    }

    @Test(arguments: MigratedEngine.allCases)
    func aStageThatIsStoppedIsUndone(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a", "b", "c"])
        #expect(throws: Refusal.self) { try engine.migrate(path, Lightweight.self) { _, _ in throw Refusal() } }
        #expect(try engine.outline(path).version == NotesV1.versionIdentifier)
        try engine.migrate(path, Lightweight.self)
        #expect(try engine.outline(path).version == NotesV2.versionIdentifier)
    }

    @Test(arguments: MigratedEngine.allCases)
    func whatCannotBeDoneIsNamed(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a", "b"])
        // The rank changes its kind, and no declaration says how.
        let kind = #expect(throws: HabitStoreError.self) { try engine.migrate(path, LightweightToUnique.self) }
        #expect(kind?.code == .schemaMismatch)
        #expect(kind?.message == "Note.rank changes from int to string, which needs a custom stage")
    }

    @Test(arguments: MigratedEngine.allCases, [["a", nil], ["a", "a"]])
    func aRecordThatDoesNotFitIsNamedAndNothingIsChanged(engine: MigratedEngine, titles: [String?]) throws {
        enum NoHooks: OneStagePlan {
            static let stage = MigrationStage.custom(
                fromVersion: NotesV1.self,
                toVersion: NotesV3.self,
                willMigrate: nil,
                didMigrate: nil
            )
        }
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, titles)
        let error = #expect(throws: HabitStoreError.self) { try engine.migrate(path, NoHooks.self) }
        #expect(error?.code == (titles.contains(nil) ? .invalidValue : .uniqueViolation))
        #expect(error?.location.attribute == "title")
        #expect(error?.location.id != nil)
        let store = try engine.open(path, NotesV1.schema, .readOnly)
        #expect(Set(try store.all(NotesV1.Note.self).map(\.title)) == Set(titles))
        store.close()
    }

    /// A process that opened the store before must neither read records of the new schema nor write its own.
    @Test(arguments: MigratedEngine.allCases)
    func whoHasOpenedTheStoreBeforeIsRefused(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a"])
        let early = try engine.open(path, NotesV1.schema, .readWrite)
        defer { early.close() }
        #expect(try early.fetchCount(FetchDescriptor<NotesV1.Note>()) == 1)
        try engine.migrate(path, Lightweight.self)
        Result { try early.fetchCount(FetchDescriptor<NotesV1.Note>()) }.mustFail(with: .schemaMismatch)
        Result { try early.save(NotesV1.Note(title: "b", rank: 1)) }.mustFail(with: .schemaMismatch)
        Result { try early.replicaRead { try $0.count(entity: 0) } }.mustFail(with: .schemaMismatch)
        Result { try early.replicate { try $0.setBackfillState(nil) } }.mustFail(with: .schemaMismatch)
        let store = try engine.open(path, NotesV2.schema, .readOnly)
        #expect(try store.fetchCount(FetchDescriptor<NotesV2.Note>()) == 1)
        store.close()
    }

    @Test(arguments: MigratedEngine.allCases)
    func aStoreThatThePlanDoesNotHaveIsLeftAsItIs(engine: MigratedEngine) throws {
        enum FromTwo: OneStagePlan {
            static let stage = MigrationStage.lightweight(fromVersion: NotesV2.self, toVersion: NotesV3.self)
        }
        enum Gap: SchemaMigrationPlan {
            static let schemas: [any VersionedSchema.Type] = [NotesV1.self, NotesV2.self, NotesV3.self]
            static let stages = [Lightweight.stage]
        }
        enum Backwards: SchemaMigrationPlan {
            static let schemas: [any VersionedSchema.Type] = [NotesV2.self, NotesV1.self]
            static let stages: [MigrationStage] = []
        }
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, ["a"])
        let before = try folder.contents()[URL(fileURLWithPath: path).lastPathComponent]
        Result { try engine.migrate(path, FromTwo.self) }.mustFail(with: .schemaMismatch)
        Result { try engine.migrate(path, Gap.self) }.mustFail(with: .schemaMismatch)
        Result { try engine.migrate(path, Backwards.self) }.mustFail(with: .schemaMismatch)
        // Versions of another app's schema may have the same numbers.
        Result { try engine.migrate(path, HabitMigrationPlan.self) }.mustFail(with: .schemaMismatch)
        #expect(try folder.contents()[URL(fileURLWithPath: path).lastPathComponent] == before)
        try engine.migrate(path, Lightweight.self)
        enum Old: SchemaMigrationPlan {
            static let schemas: [any VersionedSchema.Type] = [NotesV1.self]
            static let stages: [MigrationStage] = []
        }
        Result { try engine.migrate(path, Old.self) }.mustFail(with: .newerVersion)
    }
}
