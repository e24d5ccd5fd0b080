/// A store whose file can be checked, copied and closed.
public protocol MaintainableStore: HabitStore {
    /// The file, or nil for a store without one.
    var path: String? { get }

    /// Checks the store against itself: the file's structure, every record, every index, every relationship, the history. Each record is read as its
    /// model, if the schema has models. No findings means that the store is sound.
    ///
    /// - Parameter progress: gets the number of records checked so far; an error that it throws ends the check.
    func check(progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the store; later operations throw ``HabitStoreError/Code/closed``.
    func close()
}
