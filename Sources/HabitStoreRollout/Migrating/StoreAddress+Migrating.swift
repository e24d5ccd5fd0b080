import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

extension StoreAddress {
    /// What the store says of itself, whatever its schema. Nothing is written.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func outline() throws -> StoreOutline {
        switch engine {
        case .sqlite: return try SQLiteHabitStore.outline(ofStoreAt: path)
        case .lmdb:
            do {
                return try LMDBHabitStore.outline(ofStoreAt: path)
            } catch let error as HabitStoreError where error.code == .engineUnavailable {
                return try RescuedLMDBStore.outline(rescuing: path)
            }
        }
    }

    /// Brings the store to the last version of a plan; see ``HabitStore/StoreMigrator``.
    ///
    /// - Parameters:
    ///   - opener: what opens the store, of whatever version.
    ///   - now: the clock that stamps what hooks change, in the history.
    ///   - progress: a throw undoes the stage that is under way.
    public func migrate(
        _ plan: any SchemaMigrationPlan.Type,
        opener: @escaping StoreOpener = plainOpener,
        now: @escaping @Sendable () -> Date = { Date() },
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationOutcome {
        try migration(plan, opener, now).run(progress: progress)
    }

    /// The version of the store's schema, as the file says it or, where it says nothing to the engine, as it is opened.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    func version(_ plan: any SchemaMigrationPlan.Type, _ opener: @escaping StoreOpener) throws -> Schema.Version {
        try migration(plan, opener) { Date() }.version()
    }

    private func migration(
        _ plan: any SchemaMigrationPlan.Type,
        _ opener: @escaping StoreOpener,
        _ now: @escaping @Sendable () -> Date
    ) -> OpenedMigration {
        OpenedMigration(path: path, plan: plan, now: now) {
            try outline().version
        } open: { schema, access in
            try opener(self, access, schema)
        }
    }

    /// Opens a store as ``open(_:schema:)`` does.
    public static let plainOpener: StoreOpener = { address, access, schema in
        try address.open(access, schema: schema)
    }

    /// Tries a migration out on a copy of the store; see ``HabitStore/StoreMigrator/rehearse(in:progress:)``.
    public func rehearseMigration(
        _ plan: any SchemaMigrationPlan.Type,
        in directory: String,
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationRehearsal {
        switch engine {
        case .sqlite:
            return try StoreMigrator<SQLiteHabitStore>(path: path, plan: plan).rehearse(
                in: directory,
                progress: progress
            )
        case .lmdb:
            return try StoreMigrator<LMDBHabitStore>(path: path, plan: plan).rehearse(in: directory, progress: progress)
        }
    }

    /// Gives the store's files, which nobody has open, other names beside their own.
    ///
    /// - Returns: where the store is then.
    func setAside(as suffix: String) throws -> String {
        var aside = "\(path)-\(suffix)"
        while FileManager.default.fileExists(atPath: aside) { aside += "-" }
        do {
            // The store's own file first: without it the others mean nothing.
            for sidecar in ["", "-wal", "-shm", "-lock", "-sound"] {
                guard FileManager.default.fileExists(atPath: path + sidecar) else { continue }
                try FileManager.default.moveItem(atPath: path + sidecar, toPath: aside + sidecar)
            }
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the store cannot be set aside as \(aside)",
                at: .init(path: path),
                underlying: error
            )
        }
        return aside
    }
}
