@_spi(Engines) import HabitStore

extension OpenUser {
    /// A store answered with a state older than the acknowledged one.
    struct Behind: Error {}

    /// Whether the mapped control file, or the answering store's file, is no longer the one in the user's folder. Costs two system calls.
    var isOutOfPlace: Bool {
        guard let route = leases.present else { return false }
        return !route.control.isInPlace || !pair.holds(route.actual.engine)
    }
}

extension UserFiles {
    /// Makes sure that the user has a store before a follower opens the user: opening an empty folder would create a new user.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no store.
    func requireStores() throws {
        let (engines, directory) = (context.engines, context.directory)
        guard try engines.names.contains(where: { try engines.identity(of: engines.address($0, of: directory)) != nil })
        else {
            throw HabitStoreError(
                .notFound,
                "the user's stores were moved away or deleted while they were followed; put them back, or open the user again",
                at: .init(path: directory.path)
            )
        }
    }
}
