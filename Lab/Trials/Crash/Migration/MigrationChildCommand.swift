import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Migrates a store, or a user's stores, and ends.
struct MigrationChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migration-child",
        abstract: "Migrate a store until this process is killed; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The store.")
    var store: String?

    @Option(help: "The root of a user's stores.")
    var root: String?

    mutating func run() throws {
        if let store { _ = try StoreAddress(parsing: store).migrator(HabitMigrationPlan.self).run() }
        if let root { try MigrationWorkload.stores(root, flags: nil).store(for: MigrationWorkload.user).close() }
    }
}
