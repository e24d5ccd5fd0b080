import HabitStore
import HabitStoreRollout
import StandardEngines

/// The notes of this app's only user, on the current engine.
package func openNotes() throws -> UserStore {
    let schema = Schema([Note.self], version: Schema.Version(1, 0, 0))
    let stores = try UserStores(root: "data", flags: nil, schema: schema)
    return try stores.store(for: "me")
}
