@_spi(Engines) import HabitStore
import HabitStoreRollout

extension StoreAddress {
    /// Reads the address of a store that may have to be made.
    ///
    /// - Throws: a usage error where nothing says which kind a new one is to be.
    package init(destination text: String) throws {
        do {
            try self.init(argument: text)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw CommandFailure.usage(
                "\(text): there is no store here whose kind could be recognised; "
                    + "name the kind of the new one, as sqlite:PATH or lmdb:PATH"
            )
        }
    }

    /// Makes sure that an import may write to a store at this place by its path.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` in a user's folder, where also a store that the rollout has not opened
    ///   yet is the user's.
    package func requireOutsideOfUsers() throws {
        guard UserDirectory.isParent(ofFileAt: path) else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "this place is in a user's folder, and an import by its path would go past the rollout; import for the user instead: "
                + "without --into, by --root and --user",
            at: .init(path: path)
        )
    }

    /// Opens the destination of an import; it is made where there is none.
    ///
    /// - Parameter schema: the schema of a new one; nil where there is a store, to be opened as it was written.
    /// - Throws: as ``requireOutsideOfUsers()`` does, also for a store of a rollout elsewhere; what is wrong with the file.
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
