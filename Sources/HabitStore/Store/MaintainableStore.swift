/// A store whose file can be checked, copied and closed.
public protocol MaintainableStore: HabitStore {
    /// The file, or nil for a store without one.
    var path: String? { get }

    /// Checks the store against itself: the file's structure, every record, every index, every relationship, the
    /// history. Each record is read as its model, where the schema has models. An empty result is a clean bill.
    ///
    /// - Parameter progress: is told now and then how many records were checked; a throw ends the check.
    func check(progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the store; later operations throw ``HabitStoreError/Code/closed``.
    func close()
}
