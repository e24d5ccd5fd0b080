import HabitStore

extension OpenUser {
    /// Finds out where the user is, and finishes or undoes an interrupted move. If the stores have an older schema version and there is a plan,
    /// migrates them first.
    func settle(_ look: Look, _ wanted: EnginePair) throws -> ActualStage? {
        let change = look.change
        let isKilled = look.pulled != nil || isKillRecorded(change.control)
        var behind: ActualStage?
        var failure: HabitStoreError?
        do {
            behind = try change.settle(wanted, isKilled: isKilled)
            // If only the other store has an older version, writes at this stage still need it.
            failure = behind?.obstacle
            guard failure?.code == .migrationRequired || change.looksAtBoth && hasUnfinishedMigration else {
                return behind
            }
        } catch let error as HabitStoreError where error.code == .migrationRequired {
            failure = error
        }
        guard let migration = options.migrationPlan.map({ self.migration(by: $0, change.control) }) else {
            if behind == nil, let failure { throw failure }
            return behind
        }
        pair.release()
        guard let outcome = try migration.run(wanted, isKilled: isKilled) else {
            if behind == nil, let failure { throw failure }
            return behind
        }
        let notes = tell(outcome)
        var actual = try change.settle(wanted, isKilled: isKilled)
        actual?.notes += notes
        return actual
    }

    /// Migrates a store that does not serve to the schema version of the serving one. Called before the store is needed, and only by callers that
    /// need it, so that others do not wait.
    ///
    /// - Throws: why it cannot be migrated.
    func migrateFollower(_ engine: EngineName, beside actual: ActualStage) throws {
        guard let plan = context.followerPlan, let control, try pair.exists(engine) else { return }
        guard let outcome = try migration(by: plan, control).bringAlong(engine, beside: actual) else { return }
        tell(outcome)
    }

    private func migration(by plan: any SchemaMigrationPlan.Type, _ control: ControlFile) -> PairMigration {
        PairMigration(
            directory: directory,
            plan: plan,
            engines: context.engines,
            control: control,
            stepLimitSeconds: options.stepLimitSeconds,
            followerLimitSeconds: options.lockWaitSeconds
        )
    }

    /// Records and logs a migration.
    ///
    /// - Returns: its notes for people.
    @discardableResult
    private func tell(_ outcome: PairMigration.Outcome) -> [String] {
        record([.migrated(from: outcome.from, to: outcome.to, token: outcome.token)])
        let notes = ["migrated from schema version \(outcome.from) to \(outcome.to)"] + outcome.notes
        for note in notes {
            options.logger.log(
                level: outcome.hasDropped ? .warning : .notice,
                "a user's stores: \(note)",
                metadata: ["folder": "\(directory.path)"]
            )
        }
        return notes
    }

    private var hasUnfinishedMigration: Bool {
        let pair = StorePair(directory: directory, schema: context.schema, access: .readOnly, engines: context.engines)
        defer { pair.close() }
        return pair.unfinishedMigration(pair.look(limitSeconds: options.stepLimitSeconds)) != nil
    }
}
