import HabitStore
import HabitStoreRollout
import StandardEngines

extension StoreAddress {
    /// Reads the address of a store that may have to be made.
    ///
    /// - Throws: a usage error where nothing says which kind a new one is to be.
    init(destination text: String) throws {
        do {
            try self.init(parsing: text)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw CommandFailure.usage(
                "\(text): there is no store here whose kind could be recognised; "
                    + "name the kind of the new one, as sqlite:PATH or lmdb:PATH"
            )
        }
    }
}
