import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreMacros
import HabitStoreSQLite
import Testing

/// Names and defaults that the macro took from the declarations reach the migration.
struct MadeModelMigrationTests {
    @Test(arguments: TestedStore.files)
    func previousNamesAndDefaultsCarryRecordsToTheNextVersion(_ kind: TestedStore) throws {
        let folder = try TestFolder()
        let old = try kind.open(in: folder, FolderSchema.schema)
        let box = FolderSchema.Folder(name: "box")
        let note = FolderSchema.Note(slug: "a", heading: "First", notebookID: box.id)
        try old.write(author: "app") { transaction in
            try transaction.save(box)
            try transaction.save(note)
        }
        old.close()
        switch kind {
        case .sqlite: _ = try migrate(SQLiteHabitStore.self, folder.path("store.sqlite"))
        default: _ = try migrate(LMDBHabitStore.self, folder.path("store.lmdb"))
        }
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        let found = try #require(try store.model(NotebookSchema.Note.self, id: note.id))
        #expect(found.title == "First" && found.slug == "a" && found.notebookID == box.id)
        #expect(found.body == "" && found.mood == .good && found.style == Style() && found.progress == Percentage(50))
        // New records have the present time; those that there are have the declared one.
        #expect(
            found.createdAt == .distantPast
                && NotebookSchema.Note(slug: "b").createdAt > Date(timeIntervalSinceNow: -60)
        )
        #expect(found.labelIDs.isEmpty && found.feeling == nil && found.default)
        #expect(try store.model(NotebookSchema.Notebook.self, id: box.id)?.name == "box")
    }

    private func migrate(_ store: any FileBackedStore.Type, _ path: String) throws -> MigrationOutcome {
        try StoreMigrator(store, path: path, plan: NotebookPlan.self).run { _ in }
    }
}
