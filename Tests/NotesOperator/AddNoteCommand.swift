import ArgumentParser
import HabitStore
import HabitStoreOperator

/// A command of the app's own beside the others.
struct AddNoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a note to a user's.")

    @OptionGroup var users: UserOptions

    @Argument(help: "The note's title.")
    var title: String

    func run() async throws {
        let (stores, user) = try await users.stores()
        let store = try await stores.store(for: user)
        defer { store.close() }
        try await store.save(NotesSchemaV2.Note(title: title))
    }
}
