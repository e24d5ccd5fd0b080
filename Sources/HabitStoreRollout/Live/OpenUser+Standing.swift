@_spi(Engines) import HabitStore

extension OpenUser {
    /// A store answered from before what was acknowledged.
    struct Behind: Error {}

    /// Whether the control file that is mapped, or the file of the store that answers, is not the one that stands in the user's folder
    /// any more. Costs two calls of the system.
    var isOutOfPlace: Bool {
        guard let route = leases.present else { return false }
        return !route.control.isInPlace || !pair.holds(route.actual.engine)
    }
}

extension UserFiles {
    /// Makes sure that the user has a store, before one who only follows the user has it opened: nobody is made anew by that where
    /// nothing stands in the folder, or not yet.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound``.
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
