import HabitStore
import HabitStoreRollout

extension StoreAddress {
    /// Opens a store with the schema that it has written down, where that is not the one of habits.
    func openAsItIs(_ access: StoreAccess) throws -> any UserStoreBackend {
        do {
            return try open(access)
        } catch let error as HabitStoreError where [.schemaMismatch, .migrationRequired].contains(error.code) {
            guard let stored = try outline().schema else { throw error }
            return try open(access, schema: Schema(shapes: stored.entities, version: stored.version))
        }
    }
}
