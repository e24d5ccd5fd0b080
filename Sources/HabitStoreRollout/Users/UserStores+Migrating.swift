import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// The result of a migration for one of a user's stores.
    package struct MigratedStore: Sendable {
        package let engine: EngineName
        /// Its version now; nil if unknown.
        package let version: Schema.Version?
        /// Why it does not have the current version; nil if it does.
        package let failure: HabitStoreError?
    }

    /// Migrates all stores of a user to the current version of the schema: the serving one, as an opening does, and the following or left one, for
    /// which no opening waits.
    ///
    /// - Returns: notes, the serving store's token, and each store's state afterwards.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; what is wrong with the serving store.
    package func migrate(
        _ user: String
    ) throws -> (notes: [String], token: HistoryToken, stores: [MigratedStore]) {
        let directory = try known(user)
        let store = try store(for: user, finishesMigration: true, mayBegin: false)
        defer { store.close() }
        let lease = try store.files.lease()
        var failures: [EngineName: HabitStoreError] = [:]
        try lease.user.settleBoth()
        let actual = try lease.user.recheck().actual
        do {
            try lease.user.migrateFollower(actual.other, beside: actual)
        } catch let error as HabitStoreError {
            failures[actual.other] = error
        }
        let stores = engines.names.compactMap { migrated($0, of: directory, failures[$0]) }
        return (store.notes, try store.currentToken(), stores)
    }

    /// - Returns: nil if there is no such store.
    private func migrated(
        _ engine: EngineName,
        of directory: UserDirectory,
        _ failure: HabitStoreError?
    ) -> MigratedStore? {
        let (engines, address) = (engines, engines.address(engine, of: directory))
        do {
            let version: Schema.Version? = try Deadline.run(seconds: options.stepLimitSeconds, path: address.path) {
                [plan = options.migrationPlan] _ in
                guard try engines.identity(of: address) != nil else { return nil }
                guard let plan else { return try engines.outline(address).version }
                return try StoreMigrator(address, engines: engines, plan: plan).version()
            }
            guard let version else { return nil }
            let missing = HabitStoreError(
                .migrationRequired,
                "the store is of schema version \(version), and this program's is \(schema.version)",
                at: .init(path: address.path)
            )
            return MigratedStore(
                engine: engine,
                version: version,
                failure: version == schema.version ? nil : failure ?? missing
            )
        } catch {
            let failure =
                error as? HabitStoreError ?? HabitStoreError(.inputOutput, "\(error)", at: .init(path: address.path))
            return MigratedStore(engine: engine, version: nil, failure: failure)
        }
    }
}
