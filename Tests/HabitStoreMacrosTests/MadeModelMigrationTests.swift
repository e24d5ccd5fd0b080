import Foundation
import HabitStoreLMDB
import HabitStoreMacros
import HabitStoreSQLite
import HabitStoreTesting
import Testing

@testable @_spi(Engines) import HabitStore

/// Names and defaults that the macro takes from the declarations reach the migration.
struct MadeModelMigrationTests {
    @Test(arguments: TestedStore.files)
    func previousNamesAndDefaultsCarryRecordsToTheNextVersion(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let old = try kind.open(in: folder, FolderSchema.schema)
        let box = FolderSchema.Folder(name: "box")
        let note = FolderSchema.Note(slug: "a", heading: "First", notebookID: box.id)
        try old.write(author: "app") { transaction in
            try transaction.save(box)
            try transaction.save(note)
        }
        old.close()
        try migrate(kind, in: folder, NotebookPlan.self)
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        let found = try #require(try store.model(NotebookSchema.Note.self, id: note.id))
        #expect(found.title == "First" && found.slug == "a" && found.notebookID == box.id)
        #expect(found.body == "" && found.mood == .good && found.style == Style() && found.progress == Percentage(50))
        // New records have the current time; migrated ones have the declared one.
        #expect(
            found.createdAt == .distantPast
                && NotebookSchema.Note(slug: "b").createdAt > Date(timeIntervalSinceNow: -60)
        )
        #expect(found.labelIDs.isEmpty && found.feeling == nil && found.default)
        #expect(try store.model(NotebookSchema.Notebook.self, id: box.id)?.name == "box")
    }

    /// The macro repeated `.none` for a value that may be nil. There it meant nil, so the schema had no default, and records of the previous version
    /// could not be migrated.
    @Test(arguments: TestedStore.files)
    func aCaseThatIsCalledNoneIsADefault(_ kind: TestedStore) throws {
        let attributes = RepeatedNote.Note.entity.attributes
        #expect(attributes.map(\.defaultValue) == [nil, nil, .string("none"), .string("daily")])
        #expect(RepeatedNote.Note(title: "new").rule == RepeatRule.none)
        let folder = try TemporaryFolder()
        let old = try kind.open(in: folder, PlainNote.schema)
        let note = PlainNote.Note(title: "old")
        try old.save(note)
        old.close()
        try migrate(kind, in: folder, RepeatedNotePlan.self)
        let store = try kind.open(in: folder, RepeatedNote.schema)
        defer { store.close() }
        #expect(try store.model(RepeatedNote.Note.self, id: note.id)?.rule == RepeatRule.none)
    }

    /// As the articles say: no schema shows a change of a `Codable` type, and saving writes what could be read.
    @Test(arguments: TestedStore.files)
    func aCodableTypeThatChangesIsNotSeenByTheSchema(_ kind: TestedStore) throws {
        #expect(OldPlace.schema.storedText == RenamedPlace.schema.storedText)
        #expect(OldPlace.schema.storedText == StricterPlace.schema.storedText)
        let folder = try TemporaryFolder()
        let old = try kind.open(in: folder, OldPlace.schema)
        let note = OldPlace.Note(place: OldPlace.Place(town: "Porto"))
        try old.save(note)
        old.close()

        let stricter = try kind.open(in: folder, StricterPlace.schema)
        let error = #expect(throws: HabitStoreError.self) { try stricter.model(StricterPlace.Note.self, id: note.id) }
        #expect(error?.code == .unreadableValue && error?.location.attribute == "place")
        stricter.close()

        let renamed = try kind.open(in: folder, RenamedPlace.schema)
        let read = try #require(try renamed.model(RenamedPlace.Note.self, id: note.id))
        #expect(read.place.city == nil)
        try renamed.save(read)
        renamed.close()

        let again = try kind.open(in: folder, OldPlace.schema)
        defer { again.close() }
        #expect(throws: HabitStoreError.self) { try again.model(OldPlace.Note.self, id: note.id) }
    }

    private func migrate(_ kind: TestedStore, in folder: TemporaryFolder, _ plan: any SchemaMigrationPlan.Type) throws {
        let (store, path): (any FileBackedStore.Type, String) =
            kind == .sqlite
            ? (SQLiteHabitStore.self, folder.path("store.sqlite")) : (LMDBHabitStore.self, folder.path("store.lmdb"))
        _ = try StoreMigrator(store, path: path, plan: plan).run { _ in }
    }
}
