import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore

extension OpenUser {
    /// Moves a user because of a call or a finding; all such moves go through here. Takes the lock of the user's switches, finds out where the user
    /// is, lets `act` decide and act, records the move, and puts the new route in force.
    ///
    /// - Parameters:
    ///   - reason: why the user is moved; nil if `act` records the move itself.
    ///   - find: returns where the user is, or nil to do nothing.
    ///   - act: returns where the user is afterwards, or nil for a user who stays.
    func move(
        _ reason: StageChangeReason?,
        because: String? = nil,
        from find: (Observation, inout State) throws -> ActualStage?,
        _ act: (Observation, ActualStage, inout State) throws -> ActualStage?
    ) throws {
        try state.withLock { state in
            try withSwitch { look in
                guard let actual = try find(look, &state), let moved = try act(look, actual, &state) else { return }
                if let reason {
                    note(actual, moved, reason, because: because)
                } else {
                    context.evidence.noteLogged(moved)
                }
                _ = try install(moved, look, &state)
                // If another store serves now, or it is now shared with other machines, it must have the evidence that led there.
                context.evidence.synchronize(moved, pair)
            }
        }
    }

    /// The same, from where the flags and the kill switch have taken the user by then.
    func move(
        _ reason: StageChangeReason?,
        because: String? = nil,
        _ act: (Observation, ActualStage, inout State) throws -> ActualStage?
    ) throws {
        try move(reason, because: because, from: { look, state in try refreshRoute(&state, look).actual }, act)
    }

    /// Takes the user to an earlier stage.
    ///
    /// - Parameters:
    ///   - stage: the stage to go to; nil for the previous one.
    ///   - because: why, for the evidence; nil if not given.
    ///   - onlyFrom: the only stage to take the user back from; nil for any.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the stage is not an earlier one; why the move failed.
    func moveBack(
        to stage: Stage?,
        reason: StageChangeReason,
        because: String? = nil,
        onlyFrom: Stage? = nil
    ) throws {
        try withOldUp {
            try move(reason, because: because) { look, actual, _ in
                if let onlyFrom, actual.stage != onlyFrom { return nil }
                // A kill may have waited for the copy.
                if let stage, actual.stage <= stage, actual.state.isKilled { return nil }
                guard let target = stage ?? Stage(position: actual.stage.position - 1), target < actual.stage else {
                    throw HabitStoreError(
                        .unsupported,
                        "the user is at \(actual.stage.rawValue), and \((stage ?? .off).rawValue) is not an earlier stage",
                        at: .init(path: directory.path)
                    )
                }
                let evidence = context.evidence.remembered(actual, pair)
                return try look.change.move(actual, to: target, isKilled: actual.state.isKilled, evidence: evidence)
            }
        }
    }

    /// Another machine has accepted the following copy as the user's current store. Stops serving the user here until both stores were checked.
    func stepDown(_ actual: ActualStage) {
        guard pair.known.isShared(actual.other) else { return }
        do {
            try state.withLock { _ in
                try withSwitch { look in
                    guard try look.change.stepDown(actual.engine, to: actual.other) else { return }
                    leases.store(nil)
                    options.logger.error(
                        "another machine has accepted the copy of a user's store",
                        metadata: ["engine": "\(actual.other)", "folder": "\(directory.path)"]
                    )
                }
            }
        } catch {
            options.logger.error("a user whose store another machine has accepted is still served here: \(error)")
        }
    }

    /// Lets a killed user move forward again.
    ///
    /// - Returns: whether the user was killed.
    func rearm(by person: String) throws -> Bool {
        var wasKilled = false
        try move(
            nil,
            from: { look, _ in
                // The switch may have been pulled while this waited for the lock.
                try flags.requireNoKill(for: context.subject)
                let actual = try look.change.recover(context.stillWanted.engines)
                if let actual, actual.state.isKilled { return actual }
                // Removes the record of a kill that no store knows of yet.
                wasKilled = look.change.control.isKilled
                look.change.control.forgetKill()
                if wasKilled { record([.rearmed(by: person)]) }
                return nil
            }
        ) { look, actual, _ in
            wasKilled = true
            let armed = try look.change.move(
                actual,
                to: actual.stage,
                evidence: context.evidence.remembered(actual, pair)
            )
            look.change.control.forgetKill()
            record([.rearmed(by: person)])
            return armed
        }
        return wasKilled
    }

    /// Records a difference found by a shadow read.
    func found(_ difference: ShadowDifference, at stage: Stage, epoch: Int) {
        options.logger.error(
            "a user's stores differ",
            metadata: [
                "stage": "\(stage.rawValue)", "token": "\(difference.token)", "what": "\(difference.message)",
                "folder": "\(directory.path)",
            ]
        )
        context.metrics.differed(.shadowRead)
        recordDifference(
            .difference(stage: stage, token: difference.token, message: difference.message, epoch: epoch)
        )
        guard stage == .live else { return anchorEvidence() }
        do {
            try takesBack()
        } catch {
            options.logger.error("a user whose stores differ could not be taken back: \(error)")
        }
    }
}

extension OpenUser {
    /// Takes the user back now, if the kill switch is pulled for the user and that was not done yet.
    ///
    /// - Returns: whether the user is killed.
    /// - Throws: why the user could not be taken back.
    func applyKill() throws -> Bool {
        var route = try currentRoute()
        // Saves another check if opening the files has just done it.
        if route.refusal == nil, route.actual.state.isKilled, route.actual.stage == .off { return true }
        route = try recheck()
        if route.refusal != nil {
            // At `complete` the old store has not followed, and the history may not reach back to its last token.
            route = try withOldUp { try recheck() }
        }
        if let refusal = route.refusal { throw refusal }
        return route.actual.state.isKilled
    }

    /// The kill that keeps the user back, or has yet to take the user back; nil if there is none, or it is already carried out.
    ///
    /// - Parameter pulled: the pulled kill switch, read once per kill, since a flag may have changed by a second reading.
    func killTrigger(_ actual: ActualStage, _ control: ControlFile, _ pulled: KillSwitch.Pull?) -> KillSwitch.Pull? {
        guard actual.stage != .off || !actual.state.isKilled else { return nil }
        if let pulled { return pulled }
        return actual.state.isKilled || isKilled(control, actual)
            ? KillSwitch.Pull(text: "the user was killed and not re-armed") : nil
    }

    /// Whether the control file records a kill that the stores do not know of. A user who belongs to no machine may have been re-armed on another one
    /// since, in a later epoch.
    private func isKilled(_ control: ControlFile, _ actual: ActualStage) -> Bool {
        control.isKilled && (!pair.isWithoutMachine(actual.state) || control.killedEpoch >= actual.epoch)
    }

    /// Takes the user to the old store, which has everything, after the new one turned out to be damaged while it served.
    func leave(_ route: Route, _ damage: HabitStoreError) {
        options.logger.error("a user's store is damaged: \(damage)", metadata: ["folder": "\(directory.path)"])
        let difference = EvidenceEvent.difference(
            stage: route.actual.stage,
            token: route.actual.token,
            message: damage.message,
            epoch: route.actual.epoch
        )
        var isPulled = false
        do {
            try move(.differenceFound, from: { _, _ in route.condition.holds ? route.actual : nil }) {
                look,
                actual,
                _ in
                let left = try look.change.kill(actual, isKilled: false)
                context.metrics.differed(.open)
                recordDifference(difference)
                isPulled = look.pulled != nil
                return left
            }
            // The next operation carries out the pulled kill, which this move was not.
            if isPulled { leases.store(nil) }
        } catch {
            options.logger.error("a user could not be taken to the store that is sound: \(error)")
        }
    }

    /// The error of an action that needs the serving store to be sound.
    func unsound(_ actual: ActualStage, _ what: String) -> HabitStoreError {
        let remedy =
            actual.stage.authority == .new
            ? "take the user to the other store with `\(OperatorCommand.name) rollout demote --user U`"
            : pair.mayExist(actual.other)
                ? "\(directory.command("doctor")) says whether the \(actual.other.rawValue) store is sound, and how to accept it"
                : "restore a backup"
        return HabitStoreError(
            .corrupt,
            "the serving store, \(actual.engine.rawValue), \(what): \(remedy)",
            at: .init(path: pair.address(actual.engine).path)
        )
    }

    /// Records a kill before opening a store for it: if the attempt fails, the next opening by any program tries again.
    ///
    /// The root's latch is set only while the sentinel file exists: this process may have been suspended since it checked, and all users re-armed
    /// meanwhile. For the same reason, a kill that passes by the lock is checked once more.
    func recordKill(_ pulled: KillSwitch.Pull, _ control: ControlFile) {
        let unlatched = unlatchedRoot(pulled)
        guard unlatched != nil || !control.isKilled, let now = context.refreshKill() else { return }
        if let unlatched, now.root == unlatched { latch(unlatched, by: pulled) }
        guard !control.isKilled else { return }
        if !control.rememberKill(max(StageSwitch.firstEpoch, control.floor)) {
            options.logger.error(
                "a kill is recorded, and the disk may not have it",
                metadata: ["folder": "\(directory.path)"]
            )
        }
    }

    /// Records a pulled kill although the control file cannot be opened: in the root's latch, and in a ``KillMarker`` in the user's folder.
    func recordKill(without error: any Error) {
        if let code = (error as? HabitStoreError)?.code, code == .notFound || code == .busy { return }
        guard let pulled = context.refreshKill() else { return }
        if let root = unlatchedRoot(pulled) { latch(root, by: pulled) }
        do {
            try KillMarker(directory).make(pulled.text)
        } catch {
            options.logger.error("a kill is not recorded: \(error)", metadata: ["folder": "\(directory.path)"])
        }
    }

    /// Moves the record of a kill that was made without the control file into the control file.
    func takeMarkedKill(_ control: ControlFile) {
        let marker = KillMarker(directory)
        guard marker.isThere, control.rememberKill(max(StageSwitch.firstEpoch, control.floor)) else { return }
        marker.remove()
    }

    /// The root whose latch does not record a kill of all its users yet; nil if there is none.
    private func unlatchedRoot(_ pulled: KillSwitch.Pull) -> String? {
        pulled.root.flatMap { flags.killSwitch.isLatched($0) ? nil : $0 }
    }

    private func latch(_ root: String, by pulled: KillSwitch.Pull) {
        do {
            try flags.killSwitch.latch(root, by: pulled.text)
            context.metrics.killIsEngaged(true)
        } catch {
            options.logger.error("the kill is not remembered for everybody: \(error)")
        }
    }

    /// Whether a kill of the user was recorded and may not have been carried out. A user with a store on a server may have been re-armed on another
    /// machine since: until the stores have answered, only a kill switch that is pulled now counts there.
    func isKillRecorded(_ control: ControlFile) -> Bool {
        control.isKilled && !context.engines.names.contains(where: context.engines.isShared)
    }

    /// Takes the user back, and records it. Reads no evidence for it.
    ///
    /// - Throws: why the old store cannot be made current; the user is then served read-only.
    func kill(_ actual: ActualStage, by trigger: KillSwitch.Pull, _ change: StageSwitch) throws -> ActualStage {
        CrashPoint.reach("kill.latched")
        // On another machine, the user may be in a later epoch than the recorded one.
        change.control.noteKilled(actual.epoch)
        var notes: [String] = []
        var killed = try change.kill(actual)
        context.metrics.killed()
        let event = EvidenceEvent.killed(trigger: trigger.text)
        let isWritten =
            killed.epoch == actual.epoch
            ? record([event], isUrgent: true) : note(actual, killed, .killed, after: [event], isUrgent: true)
        if !isWritten {
            notes.append("the evidence could not be written: its lines of the kill are owed, and added later")
        }
        killed.notes += notes
        return killed
    }
}

extension OpenUser {
    /// Finds out where the user is, and finishes or undoes an interrupted move. If the stores have an older schema version and there is a plan,
    /// migrates them first.
    func recover(_ look: Observation, _ wanted: EnginePair) throws -> ActualStage? {
        let change = look.change
        let isKilled = look.pulled != nil || isKillRecorded(change.control)
        var behind: ActualStage?
        var failure: HabitStoreError?
        do {
            behind = try change.recover(wanted, isKilled: isKilled)
            // If only the other store has an older version, writes at this stage still need it.
            failure = behind?.obstacle
            guard failure?.code == .migrationRequired || change.observesBoth && hasUnfinishedMigration else {
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
        var actual = try change.recover(wanted, isKilled: isKilled)
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
        return pair.unfinishedMigration(pair.statuses(limitSeconds: options.stepLimitSeconds)) != nil
    }
}

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
        let lock = try CopyLock(
            directory,
            waitSeconds: options.stepLimitSeconds,
            progress: { try destination.replicaRead { try $0.backfillState() } }
        )
        defer { withExtendedLifetime(lock) {} }
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
