import HabitStore

extension OpenUser {
    /// Finds out where the user is, and finishes or undoes a move that was interrupted; brings the stores to the current
    /// version of the schema first, where they are of an older one and there is a plan.
    func settle(_ look: Look, _ wanted: EnginePair) throws -> ActualStage? {
        let (change, isKilled) = (look.change, look.pulled != nil)
        var behind: ActualStage?
        var failure: HabitStoreError?
        do {
            behind = try change.settle(wanted, isKilled: isKilled)
            // Only the other store may be of an older version: nothing is acknowledged without it then.
            failure = behind?.obstacle
            guard failure?.code == .migrationRequired || change.looksAtBoth && hasUnfinishedMigration else {
                return behind
            }
        } catch let error as HabitStoreError where error.code == .migrationRequired {
            failure = error
        }
        guard let plan = options.migrationPlan else {
            if behind == nil, let failure { throw failure }
            return behind
        }
        pair.release()
        let migration = PairMigration(
            directory: directory,
            plan: plan,
            engines: context.engines,
            control: change.control,
            stepLimitSeconds: options.stepLimitSeconds
        )
        guard let outcome = try migration.run(wanted, isKilled: isKilled) else {
            if let failure { throw failure }
            return behind
        }
        record([.migrated(from: outcome.from, to: outcome.to, token: outcome.token)])
        let notes = ["migrated from schema version \(outcome.from) to \(outcome.to)"] + outcome.notes
        for note in notes {
            options.logger.log(
                level: outcome.hasDropped ? .warning : .notice,
                "a user's stores: \(note)",
                metadata: ["folder": "\(directory.path)"]
            )
        }
        var actual = try change.settle(wanted, isKilled: isKilled)
        actual?.notes += notes
        return actual
    }

    private var hasUnfinishedMigration: Bool {
        let pair = StorePair(directory: directory, schema: context.schema, access: .readOnly, engines: context.engines)
        defer { pair.close() }
        return pair.unfinishedMigration(pair.look(limitSeconds: options.stepLimitSeconds)) != nil
    }
}
