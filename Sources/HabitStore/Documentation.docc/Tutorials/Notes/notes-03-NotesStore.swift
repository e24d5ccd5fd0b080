import HabitStore
import HabitStoreRollout
import StandardEngines

/// The notes of the one person who uses this app, on whichever engine they are.
package func openNotes() throws -> UserStore {
    let schema = Schema([Note.self], version: Schema.Version(1, 0, 0))
    let stores = try UserStores(root: "data", flags: nil, schema: schema)
    return try stores.store(for: "me")
}
