@_spi(Engines) import HabitStore

extension OpenUser {
    /// Brings one of the user's stores up to the current one, which goes on taking writes: the long part of a move to a store
    /// that did not follow. No history is forgotten meanwhile.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` when the user was moved meanwhile; what is wrong with a store.
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

    /// Brings the old store up to a new one that has gone on alone, the long part of the way back from `complete`, while the
    /// new one still takes writes; then runs `body`. Also where both are written and the old one is missing, or was put back
    /// from before what the history still holds: nothing else would bring it up.
    func withOldUp<R>(_ body: () throws -> R) throws -> R {
        historyReaders.add(1, ordering: .releasing)
        defer { historyReaders.subtract(1, ordering: .releasing) }
        let actual = try currentRoute().actual
        if actual.stage == .complete {
            do {
                _ = try bringUp(actual.state.engines.old, to: actual)
            } catch let error as HabitStoreError where error.code == .notAuthoritative {
                // Another process has taken the user back meanwhile; `body` sees where to.
            }
        } else if actual.stage.awaitsMirror, actual.obstacle != nil {
            do {
                _ = try bringUp(actual.state.engines.old, to: actual)
            } catch let error as HabitStoreError {
                // The way back may be open all the same, and `body` says why where it is not.
                options.logger.warning("a user's old store cannot be copied anew: \(error)")
            }
        }
        return try body()
    }
}
