import Foundation
import HabitStore
import NotesModel

@main
enum Notes {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let byTitle = FetchDescriptor<Note>(sortBy: [SortDescriptor(\.title)])
        switch words.first {
        case "add" where words.count == 2:
            try await openNotes().save(Note(title: words[1]))
        case "list":
            for note in try await openNotes().fetch(byTitle) { print("-", note.title) }
        default:
            print("Notes add TITLE, or Notes list")
        }
    }
}
