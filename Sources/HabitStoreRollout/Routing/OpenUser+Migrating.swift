import HabitStore

extension OpenUser {
    /// Finds out where the user is, and finishes or undoes a move that was interrupted; brings the stores to the current
    /// version of the schema first, where they are of an older one and there is a plan.
    func settle(_ look: Look, _ wanted: EnginePair) throws -> ActualStage? {
        let (change, isKilled) = (look.change, look.pulled != nil)
        do {
            return try change.settle(wanted, isKilled: isKilled)
        } catch let error as HabitStoreError where error.code == .migrationRequired {
            guard let plan = options.migrationPlan else { throw error }
            pair.release()
            let migration = PairMigration(
                directory: directory,
                plan: plan,
                engines: context.engines,
                control: change.control,
                stepLimitSeconds: options.stepLimitSeconds
            )
            guard let outcome = try migration.run(wanted) else { throw error }
            record([.migrated(from: outcome.from, to: outcome.to, token: outcome.token)])
            let notes = ["migrated from schema version \(outcome.from) to \(outcome.to)"] + outcome.notes
            for note in notes {
                options.logger.notice("a user's stores: \(note)", metadata: ["folder": "\(directory.path)"])
            }
            var actual = try change.settle(wanted, isKilled: isKilled)
            actual?.notes += notes
            return actual
        }
    }
}
