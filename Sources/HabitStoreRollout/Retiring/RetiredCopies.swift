@_spi(Engines) import HabitStore

/// Temporary copies of the store that a user left and the serving one, to be compared.
struct RetiredCopies {
    private let directory: UserDirectory
    private let engines: Engines
    private let folder: String

    /// Replaces copies that a killed process left. The caller holds the lock of the user's retirement.
    init(_ directory: UserDirectory, _ engines: Engines) throws {
        (self.directory, self.engines) = (directory, engines)
        try Leftovers.remove(Leftovers.retirements, in: directory, engines)
        folder = try Leftovers.retirements.makeFolder(in: directory)
    }

    /// Copies a store, and opens the copy.
    ///
    /// - Parameter name: one of the names of such copies.
    func add(
        _ store: any UserStoreBackend,
        of engine: EngineName,
        as name: String,
        _ schema: Schema
    ) throws -> any UserStoreBackend {
        let copies = try engines.copied(as: name, by: directory)
        let address = copies.address(engine, ofUser: directory.user, inFolder: folder)
        // An engine may keep the copy outside the folder, which the cleanup removed with its contents.
        try engines.discard(address)
        try store.backup(to: address.path)
        return try engines.open(address, .readWrite, schema: schema)
    }

    /// Removes the copies. The next retirement removes what cannot be removed now.
    func remove() { try? Leftovers.remove(Leftovers.retirements, in: directory, engines) }
}
