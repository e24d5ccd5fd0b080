import Foundation
import HabitStore
import NotesModel

@main
enum Notes {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let byTitle = FetchDescriptor<Note>(sortBy: [SortDescriptor(\.title)])
        switch words.first {
        case "add" where words.count > 1:
            try await add(words[1], to: words.dropFirst(2).first)
        case "list":
            for note in try await openNotes().fetch(byTitle) { print("-", note.title) }
        case "list-of" where words.count == 2:
            let name = words[1]
            let notes = FetchDescriptor<Note>(
                predicate: #Predicate { $0.notebook?.name == name },
                sortBy: byTitle.sortBy
            )
            for note in try await openNotes().fetch(notes) { print("-", note.title) }
        case "watch":
            for try await change in try openNotes().results(of: byTitle) {
                print(change.records.map(\.title).joined(separator: ", "))
                fflush(nil)
            }
        default:
            print("Notes add TITLE [NOTEBOOK], Notes list, Notes list-of NOTEBOOK, or Notes watch")
        }
    }

    /// Adds a note, and its notebook if none has this name.
    static func add(_ title: String, to name: String?) async throws {
        try await openNotes().write(author: "app") { transaction in
            var note = Note(title: title)
            if let name {
                let named = FetchDescriptor<Notebook>(predicate: #Predicate { $0.name == name })
                let notebook = try transaction.fetch(named).first ?? Notebook(name: name)
                try transaction.save(notebook)
                note.notebookID = notebook.id
            }
            try transaction.save(note)
        }
    }
}
