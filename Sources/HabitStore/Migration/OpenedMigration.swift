import Foundation

/// Takes a store through the stages of a plan, whoever opens it.
package struct OpenedMigration {
    let path: String
    let plan: any SchemaMigrationPlan.Type
    let now: @Sendable () -> Date
    let outline: () throws -> Schema.Version
    let open: (Schema, StoreAccess) throws -> any MaintainableStore & ReplicableStore

    /// - Parameters:
    ///   - now: the clock that stamps what hooks change, in the history.
    ///   - outline: what the file says of its version; where it throws, the store is opened with one version after another.
    ///   - open: opens the store.
    package init(
        path: String,
        plan: any SchemaMigrationPlan.Type,
        now: @escaping @Sendable () -> Date,
        outline: @escaping () throws -> Schema.Version,
        open: @escaping (Schema, StoreAccess) throws -> any MaintainableStore & ReplicableStore
    ) {
        (self.path, self.plan, self.now, self.outline, self.open) = (path, plan, now, outline, open)
    }

    /// The version of the store's schema. A file that says nothing to the engine may be one that only its app can read: that
    /// one is asked by opening it.
    ///
    /// - Throws: what is wrong with the file, as opening it with the plan's last version says.
    package func version() throws -> Schema.Version {
        do {
            return try outline()
        } catch let failure as HabitStoreError {
            var refusal: HabitStoreError?
            for version in plan.schemas.reversed() {
                do {
                    try open(version.schema, .readOnly).close()
                    return version.versionIdentifier
                } catch let error as HabitStoreError where Self.otherVersion.contains(error.code) {
                    refusal = refusal ?? error
                }
            }
            throw refusal ?? failure
        }
    }

    /// What a store says that is opened with another version's schema than its own.
    private static let otherVersion: Set<HabitStoreError.Code> = [.migrationRequired, .newerVersion, .schemaMismatch]

    /// The stages that the store has to go through.
    func pending() throws -> [MigrationStage] {
        let stages = try plan.stages(from: try version(), path: path)
        // Found here, and not behind a copy.
        if let first = stages.first { try open(first.from.schema, .readOnly).close() }
        return stages
    }

    /// Runs the stages that are pending.
    package func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationOutcome {
        let stages = try pending()
        var outcome = MigrationOutcome(version: try plan.current().version, steps: [], backups: [])
        for (place, stage) in stages.enumerated() {
            let store = try open(stage.from.schema, .readWrite)
            defer { store.close() }
            if stage.isCustom { outcome.backups.append(try backup(store)) }
            outcome.steps.append(
                try store.migrate(stage, timestamp: now()) { done, total in
                    try progress(
                        MigrationProgress(
                            to: stage.to.versionIdentifier,
                            stage: place + 1,
                            stages: stages.count,
                            done: done,
                            total: total
                        )
                    )
                }
            )
        }
        return outcome
    }

    /// A copy beside the store, whose name says of which version and token it is; whole as soon as it has this name.
    private func backup(_ store: any MaintainableStore & ReplicableStore) throws -> String {
        let token = try store.replicaRead { try $0.information().token }
        let name = "\(path)-\(store.schema.version)-at-\(token)"
        if FileManager.default.fileExists(atPath: name) { return name }
        let draft = "\(name)-\(UUID().uuidString)"
        do {
            try store.backup(to: draft)
            try FileManager.default.moveItem(atPath: draft, toPath: name)
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw (error as? HabitStoreError)
                ?? HabitStoreError(
                    .inputOutput,
                    "the copy that a migration begins with cannot be put in its place; the store is as it was",
                    at: .init(path: name),
                    underlying: error
                )
        }
        return name
    }
}
