@_spi(Engines) import HabitStore

extension OpenUser {
    /// Brings one of the user's stores up to date while the current one keeps taking writes: the long part of a move to a store that did not follow.
    /// Keeps the history meanwhile.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if the user was moved meanwhile; errors of a store.
    func bringUp(
        _ engine: EngineName,
        to actual: ActualStage,
        progress: (Backfill.Progress) throws -> Void = { _ in }
    ) throws -> Backfill.Outcome {
        historyReaders.add(1, ordering: .releasing)
        defer { historyReaders.subtract(1, ordering: .releasing) }
        try migrateFollower(engine, beside: actual)
        let destination = try pair.create(engine)
        let turn = try CopyTurn(
            directory,
            waitSeconds: options.stepLimitSeconds,
            progress: { try destination.replicaRead { try $0.backfillState() } }
        )
        defer { withExtendedLifetime(turn) {} }
        let outcome = try pair.read(actual.engine) { source, _ in
            try StorePair.requireOneVersion(source, destination)
            return try Backfill(from: source, to: destination, chunk: options.mirror.copyChunk, epoch: actual.epoch)
                .run(progress: progress)
        }
        context.metrics.backfilled(outcome.records)
        return outcome
    }

    /// Brings the old store up to date with a new one that served alone, while the new one still takes writes; then runs `body`. This is the long
    /// part of the way back from `complete`. Also does so where both are written, but the old store is missing, or was restored from before the start
    /// of the history: nothing else would bring it up to date.
    func withOldUp<R>(_ body: () throws -> R) throws -> R {
        historyReaders.add(1, ordering: .releasing)
        defer { historyReaders.subtract(1, ordering: .releasing) }
        let actual = try currentRoute().actual
        if actual.stage == .complete {
            do {
                _ = try bringUp(actual.state.engines.old, to: actual)
            } catch let error as HabitStoreError where error.code == .notAuthoritative {
                // Another process has taken the user back meanwhile; `body` sees where the user is.
            }
        } else if actual.stage.awaitsMirror, actual.obstacle != nil {
            do {
                _ = try bringUp(actual.state.engines.old, to: actual)
            } catch let error as HabitStoreError {
                // The way back may still be open; if it is not, `body` reports why.
                options.logger.warning("a user's old store cannot be copied again: \(error)")
            }
        }
        return try body()
    }
}
