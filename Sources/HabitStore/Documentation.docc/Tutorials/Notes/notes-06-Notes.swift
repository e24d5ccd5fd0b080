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
        case "watch":
            for try await change in try openNotes().results(of: byTitle) {
                print(change.records.map(\.title).joined(separator: ", "))
                fflush(nil)
            }
        default:
            print("Notes add TITLE, Notes list, or Notes watch")
        }
    }
}
