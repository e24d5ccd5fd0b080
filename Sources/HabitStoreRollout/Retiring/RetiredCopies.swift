@_spi(Engines) import HabitStore

/// Copies of what a user has left and of what serves, for as long as they are compared.
struct RetiredCopies {
    private let directory: UserDirectory
    private let engines: Engines
    private let folder: String

    /// Takes the place of copies that a killed process has left. The caller holds the lock of the user's retirement.
    init(_ directory: UserDirectory, _ engines: Engines) throws {
        (self.directory, self.engines) = (directory, engines)
        try Leftovers.remove(Leftovers.retirements, in: directory, engines)
        folder = try Leftovers.retirements.makeFolder(in: directory)
    }

    /// Copies a store, and opens the copy.
    ///
    /// - Parameter name: one of the names that such copies have.
    func add(
        _ store: any UserStoreBackend,
        of engine: EngineName,
        as name: String,
        _ schema: Schema
    ) throws -> any UserStoreBackend {
        let copies = try engines.copied(as: name, by: directory)
        let address = copies.address(engine, ofUser: directory.user, inFolder: folder)
        // An engine may keep it elsewhere than in the folder, which is gone with what is in it.
        try engines.discard(address)
        try store.backup(to: address.path)
        return try engines.open(address, .readWrite, schema: schema)
    }

    /// Removes the copies. What cannot be removed now is removed as what a killed process has left.
    func remove() { try? Leftovers.remove(Leftovers.retirements, in: directory, engines) }
}
