import Foundation
import HabitStore
import HabitStoreSQLite
import NotesModel
import Testing

struct NotesTests {
    @Test func notesGoWithTheirNotebook() throws {
        let store = try InMemoryHabitStore(schema: NotesPlan.current())
        let travels = Notebook(name: "Travels")
        try store.write { transaction in
            try transaction.save(travels)
            try transaction.save(Note(title: "Harbour", notebookID: travels.id))
        }
        try store.delete(travels)
        #expect(try store.all(Note.self).isEmpty)
    }

    @Test func notesOfTheFirstVersionAreBroughtAlong() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).sqlite").path
        let before = try SQLiteHabitStore(path: path, schema: NotesV1.schema)
        try before.save(NotesV1.Note(title: "Milk"))
        before.close()
        let store = try SQLiteHabitStore(path: path, migrationPlan: NotesPlan.self)
        defer { store.close() }
        #expect(try store.all(Note.self).map(\.title) == ["Milk"])
    }
}
