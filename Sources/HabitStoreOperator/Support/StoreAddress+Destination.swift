@_spi(Engines) import HabitStore
import HabitStoreRollout

extension StoreAddress {
    /// Parses the address of a store that may not exist yet.
    ///
    /// - Throws: a usage error if nothing says which kind a new store should be.
    package init(destination text: String) throws {
        do {
            try self.init(argument: text)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw CommandFailure.usage(
                "\(text): there is no store here to recognise the kind of; "
                    + "name the kind of the new one, as sqlite:PATH or lmdb:PATH"
            )
        }
    }

    /// Checks that an import may write to the store at this path.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` in a user's folder, where even a store that the rollout has not opened yet belongs to the
    ///   user.
    package func requireOutsideOfUsers() throws {
        guard UserDirectory.isParent(ofFileAt: path) else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "this path is in a user's folder, and an import to it would bypass the rollout; import for the user instead: "
                + "without --into, with --root and --user",
            at: .init(path: path)
        )
    }

    /// Opens the destination of an import, and creates it if there is none.
    ///
    /// - Parameter schema: the schema of a new store; nil to open an existing one with its own schema.
    /// - Throws: the errors of ``requireOutsideOfUsers()``, even for a rollout's store elsewhere; errors of the file.
    package func openForImport(schema: Schema?) throws -> any UserStoreBackend {
        try requireOutsideOfUsers()
        let store =
            try schema.map { try open(.create, schema: $0, by: .known) } ?? openAsWritten(.readWrite, by: .known)
        do {
            try store.replicaRead { try $0.information() }.requireImportable(path: path)
            return store
        } catch {
            store.close()
            throw error
        }
    }
}
