import ArgumentParser
import HabitStore
import HabitStoreOperator

/// The app's own command, next to the standard ones.
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
