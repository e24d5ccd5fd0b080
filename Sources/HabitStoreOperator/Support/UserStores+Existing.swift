import HabitStoreRollout

extension UserStores {
    /// Runs `body` with the store of an existing user and closes it. A misspelt name must not create a user.
    package func withExisting<R>(_ user: String, _ body: (UserStore) throws -> R) throws -> R {
        let store = try existingStore(for: user)
        defer { store.close() }
        return try body(store)
    }

    /// Runs `body` with the store of a command's only user, and prints the notes from opening it.
    package func withOnly<R>(_ user: String, _ body: (UserStore) throws -> R) throws -> R {
        try withExisting(user) { store in
            for note in store.notes { StandardError.note(note) }
            return try body(store)
        }
    }
}
