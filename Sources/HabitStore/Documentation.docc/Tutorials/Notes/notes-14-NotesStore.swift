import HabitStore
import HabitStoreRollout
import StandardEngines

/// The notes of this app's only user, on the current engine.
package func openNotes() throws -> UserStore {
    var options = RolloutOptions()
    options.migrationPlan = NotesPlan.self
    options.logger.logLevel = .warning
    let stores = try UserStores(root: "data", flags: nil, schema: NotesPlan.current(), options: options)
    return try stores.store(for: "me")
}
