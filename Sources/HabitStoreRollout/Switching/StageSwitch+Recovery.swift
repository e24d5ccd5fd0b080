import Foundation
@_spi(Engines) import HabitStore

extension StageSwitch {
    /// Finds out where the user is, and finishes or undoes an interrupted move.
    ///
    /// - Parameters:
    ///   - engines: the engines that users come from and move to, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user: then a new store that does not answer is left.
    /// - Returns: nil for a user without stores.
    /// - Throws: errors of the user's current store. Another one is served instead only if it is known to have everything that was ever acknowledged.
    func recover(_ engines: EnginePair, isKilled: Bool = false) throws -> ActualStage? {
        let engines = try pair.engines(preferring: engines)
        // An abandoned step of a move may still have happened after the stores were read.
        for _ in 1..<Self.mostAttempts {
            do {
                return try recoverOnce(engines, isKilled)
            } catch let error as HabitStoreError where error.underlying is Overtaken || error.code == .outcomeUnknown {
                // Reading the stores again shows what became of the step.
                continue
            }
        }
        return try recoverOnce(engines, isKilled)
    }

    private static let mostAttempts = 5

    private func recoverOnce(_ engines: EnginePair, _ isKilled: Bool) throws -> ActualStage? {
        let check = StatusCheck(pair.directory, control)
        if let status = soleStanding(engines, check), let state = status.state {
            return ActualStage(state: state, epoch: status.epoch, token: status.token)
        }
        let found = try collect(engines, check)
        if let status = found.status(engines.old), let state = status.state, isConclusive(status, check) {
            return ActualStage(state: state, epoch: status.epoch, token: status.token)
        }
        var actual = try recover(found, check, engines, isKilled)
        if let current = actual.flatMap({ found.status($0.engine) }) {
            actual?.putBack = whatWasPutBack(current, check)
            if check.isControlForeign(current.lineage) {
                control.disown()
                control.adopt(lineage: current.lineage, mark: current.token)
            } else {
                control.note(lineage: current.lineage)
            }
        }
        return actual
    }

    private func recover(
        _ found: ReplicaStatuses,
        _ check: StatusCheck,
        _ engines: EnginePair,
        _ isKilled: Bool
    ) throws -> ActualStage? {
        switch AuthorityResolution(found, engines, check, isKilled: isKilled).answer {
        case .nobody: return nil
        case .serves(let status):
            let actual = try recover(on: status, found, engines, isKilled)
            // The other store could not supply what was missing.
            if let objection = check.objection(to: status, at: actual.token) { throw objection }
            return actual
        case .acceptedElsewhere(let status, let left):
            guard try stepDown(left.engine, to: status.engine) else { throw Self.overtaken(pair.directory) }
            return try recover(engines, isKilled: isKilled)
        case .reopens(let sealed): return try reopen(sealed, found, engines)
        case .finishes(let left, let target):
            try finish(left, target)
            return try recover(engines, isKilled: isKilled)
        case .takesOver(let claiming, let objection):
            let doubt = whatWasPutBack(claiming, check)
            return try takeOver(on: claiming, engines, found, objection, isKilled, doubt)
        case .refused(let error): throw error
        }
    }

    /// What shows that the user's folder was restored from a copy. For a user who belongs to no machine, it is a copy anyway.
    private func whatWasPutBack(_ status: ReplicaStatus, _ check: StatusCheck) -> String? {
        if let state = status.state, pair.isWithoutMachine(state) { return nil }
        return check.whatWasPutBack(status.epoch)
    }

    /// Creates a user's missing store, or finishes creating it.
    ///
    /// - Throws: errors of an existing file that is not a store; no other is put next to it.
    func createFirst(_ state: RolloutState) throws -> ActualStage {
        let engine = state.engine(state.stage.authority)
        _ = try status(state.engines.other(than: engine))
        let place = try pair.create(engine).replicaRead { try pair.status(engine, $0) }.place
        let epoch = max(Self.firstEpoch, control.floor)
        try set(engine, .authoritative, epoch: epoch, state, expecting: place)
        return ActualStage(state: state, epoch: epoch, token: .zero)
    }

    /// The new store's status, for a user at `complete` whose other store was checked before: the other has not followed since, and cannot be current
    /// as long as the new one says this.
    ///
    /// - Returns: nil otherwise, or if the store does not answer.
    private func soleStanding(_ engines: EnginePair, _ check: StatusCheck) -> ReplicaStatus? {
        guard !observesBoth, control.stage == .complete, let status = try? status(engines.new),
            status.role == .authoritative,
            !status.isRescued, let state = status.state, state.stage == .complete, state.engines == engines,
            control.word == ControlFile.word(.complete, epoch: status.epoch), control.isRecovered(status.epoch),
            check.vouches(for: status)
        else { return nil }
        return status
    }

    /// Reads the status of the old store and, if that does not decide, of the new one.
    ///
    /// If the old store seems to serve, this thread reads it: nothing could be served if it hung, and changing threads takes longer than everything
    /// else on a busy machine. Otherwise one step reads both, each with a step's time limit. If one does not answer, the other is read all the same.
    private func collect(_ engines: EnginePair, _ check: StatusCheck) throws -> ReplicaStatuses {
        let (old, new) = (engines.old, engines.new)
        let answers = StatusCollector()
        if control.stage?.authority == .old {
            let status = answers.ask(old, pair)
            if status.map({ isConclusive($0, check) }) == true { return answers.found }
        }
        var found: ReplicaStatuses
        do {
            found = try step(old) { [pair] progress in
                if !answers.found.answered.contains(old) {
                    let status = answers.ask(old, pair)
                    if status.map({ isConclusive($0, check) }) == true { return answers.found }
                    progress.advance()
                }
                _ = answers.ask(new, pair)
                return answers.found
            }
        } catch {
            found = answers.found
            let hasOld = found.answered.contains(old)
            found.note(hasOld ? new : old, .failure(error), pair)
            if !hasOld { found.note(new, Result { try status(new) }, pair) }
        }
        // The obstacle may have been temporary; after a timeout there is no second wait.
        if let failure = found.failures[old], failure.code != .busy {
            found.note(old, Result { try status(old) }, pair)
        }
        // They were not read at the same moment, and both may have got a write in between.
        if let ahead = found.statuses.max(by: { $0.token < $1.token }), ahead.role == .standby {
            let behind = engines.other(than: ahead.engine)
            found.note(behind, Result { try status(behind) }, pair)
        }
        return pair.mayDiffer ? pair.withoutMigrations(found, limitSeconds: stepLimitSeconds) : found
    }

    /// Whether the old store is authoritative, and as current as the user: then the new one cannot matter, and may not answer.
    private func isConclusive(_ old: ReplicaStatus, _ check: StatusCheck) -> Bool {
        guard !observesBoth, old.role == .authoritative, old.epoch >= Self.firstEpoch, let state = old.state else {
            return false
        }
        return state.engines.old == old.engine && state.stage.authority == .old && check.vouches(for: old)
    }

    // MARK: A store that another machine has accepted

    /// Takes the role from the serving store if another machine has accepted its copy as the current store, because this machine was believed lost.
    ///
    /// - Returns: whether it did; then the user is not served here until both stores were checked.
    func stepDown(_ engine: EngineName, to other: EngineName) throws -> Bool {
        guard pair.known.isShared(other), let here = try status(engine), here.role == .authoritative,
            let there = try status(other), there.hasServed, there.role == .authoritative,
            there.epoch >= here.epoch, there.lineage == here.lineage
        else { return false }
        let state = here.state ?? RolloutState(unknown: engine, EnginePair(old: engine, new: other))
        let isContained = try step(engine) { [pair] in
            try pair.store(engine).replicaRead { here in
                let token = try here.information().token
                return try pair.store(other).replicaRead {
                    try token <= $0.information().token && Replication.agree(here, $0, at: token)
                }
            }
        }
        if isContained {
            try set(engine, .standby, epoch: here.epoch, there.state ?? state, expecting: here.place)
        } else {
            var left = state
            left.movingTo = state.stage
            try set(engine, .sealed, epoch: here.epoch, left, expecting: here.place)
        }
        control.invalidate()
        return true
    }

    // MARK: The authoritative store

    private func recover(
        on current: ReplicaStatus,
        _ found: ReplicaStatuses,
        _ engines: EnginePair,
        _ isKilled: Bool
    ) throws -> ActualStage {
        let state = current.state ?? RolloutState(unknown: current.engine, engines)
        guard state.engine(state.stage.authority) == current.engine else {
            throw HabitStoreError(
                .corrupt,
                "the store is authoritative, but at its stage \(state.stage.rawValue) the other one is; restore it",
                at: .init(path: pair.address(current.engine).path)
            )
        }
        var actual = ActualStage(state: state, epoch: current.epoch, token: current.token)
        if current.epoch < max(Self.firstEpoch, control.floor), !current.isRescued { try raise(current, &actual) }
        let other = engines.other(than: current.engine)
        do {
            if state.stage.awaitsMirror, let failure = found.failures[other] { throw failure }
            try finish(other, found.status(other), current, &actual, isKilled)
            if found.failures.isEmpty { control.noteRecovered(actual.epoch) }
        } catch let error as HabitStoreError {
            if state.stage.awaitsMirror { actual.obstacle = error }
            actual.notes.append("the \(other.rawValue) store is seen to later: \(error.description)")
        }
        return actual
    }

    /// Gives the serving store the epoch that a failed move has claimed. This can be delayed: until then each of its writes is checked again before
    /// it is acknowledged.
    private func raise(_ current: ReplicaStatus, _ actual: inout ActualStage) throws {
        let epoch = try claimEpoch(above: current.epoch)
        do {
            try set(current.engine, .authoritative, epoch: epoch, actual.state, expecting: current.place)
            actual.epoch = epoch
        } catch let error as HabitStoreError where current.epoch >= Self.firstEpoch && error.code != .notAuthoritative {
            if error.code == .outcomeUnknown, let now = try? status(current.engine), now.epoch == epoch {
                actual.epoch = epoch
                return
            }
            actual.notes.append("the \(current.engine.rawValue) store is given its epoch later: \(error.description)")
        }
    }

    /// Takes the last steps of an interrupted move.
    private func finish(
        _ engine: EngineName,
        _ other: ReplicaStatus?,
        _ current: ReplicaStatus,
        _ actual: inout ActualStage,
        _ isKilled: Bool
    ) throws {
        let state = actual.state
        guard let other else {
            guard state.stage.awaitsMirror else { return }
            throw HabitStoreError(
                .notFound,
                "the \(engine.rawValue) store is missing, and nothing can be acknowledged without it: "
                    + "restore the file, or continue to the stage complete",
                at: .init(path: pair.address(engine).path)
            )
        }
        guard other.lineage == current.lineage else {
            // Another user's store, or a new one that nothing was copied into, gets no role.
            guard !state.stage.awaitsMirror else { throw Self.parted(pair.address(other.engine)) }
            return
        }
        if state.stage.awaitsMirror {
            // An unfinished copy gets no role, whatever its token.
            guard other.role != .backfilling else { throw Self.parted(pair.address(other.engine)) }
            try equalize(current, other, &actual)
            // A kill changes the store's state right after this: this saves one transaction.
            guard other.role != .standby || other.epoch != actual.epoch || other.state != state && !isKilled else {
                return
            }
        } else {
            guard other.role == .sealed || other.role == .authoritative else { return }
            // Its additional writes were in progress when it was left, and were never acknowledged. On standby they would seem to prove that the
            // serving store is older.
            guard other.token <= current.token else {
                return try keepSealed(other, &actual)
            }
        }
        try set(other.engine, .standby, epoch: actual.epoch, state, expecting: other.place)
    }

    /// Seals a store that was left in the middle of a write, so that nothing follows from it.
    private func keepSealed(_ other: ReplicaStatus, _ actual: inout ActualStage) throws {
        actual.notes.append(
            "the \(other.engine.rawValue) store has a write that was never acknowledged, and must be repaired"
        )
        guard other.role == .authoritative else { return }
        var sealed = other.state ?? actual.state
        sealed.movingTo = actual.stage
        try set(other.engine, .sealed, epoch: other.epoch, sealed, expecting: other.place)
    }

    /// Makes both stores equal at stages that write both: carries over what reached only the store that is written first.
    private func equalize(_ current: ReplicaStatus, _ other: ReplicaStatus, _ actual: inout ActualStage) throws {
        guard current.token != other.token else { return }
        if other.token > current.token {
            try drain(other.engine, into: current.engine)
            actual.token = other.token
            CrashPoint.reach("settle.replayed")
        } else {
            try drain(current.engine, into: other.engine, spansWrites: true)
        }
    }

    // MARK: Without an authoritative store

    /// Finishes a move that was decided in the former store.
    private func finish(_ left: ReplicaStatus, _ target: ReplicaStatus) throws {
        guard var state = left.state else { return }
        state.movingTo = nil
        try set(target.engine, .authoritative, epoch: left.epoch, state, expecting: target.place)
        CrashPoint.reach("switch.opened")
        try set(left.engine, .standby, epoch: left.epoch, state, expecting: left.place)
    }

    /// Gives a sealed store its role back, since the move got no further than sealing.
    private func reopen(_ sealed: ReplicaStatus, _ found: ReplicaStatuses, _ engines: EnginePair) throws -> ActualStage
    {
        var state = sealed.state ?? RolloutState(unknown: sealed.engine, engines)
        state.movingTo = nil
        let epoch = try claimEpoch(above: found.highestEpoch)
        var actual = ActualStage(state: state, epoch: epoch, token: sealed.token)
        if let other = found.status(engines.other(than: sealed.engine)) {
            do {
                if state.stage.awaitsMirror { try equalize(sealed, other, &actual) }
                if state.stage.awaitsMirror || other.hasAllAcknowledged {
                    try set(other.engine, .standby, epoch: epoch, state, expecting: other.place)
                }
            } catch let error as HabitStoreError where error.code == .historyExpired && other.token < sealed.token {
                // It only lacks writes of the sealed store that no history reaches; it needs a copy.
                actual.obstacle = error
                actual.notes.append("the \(other.engine.rawValue) store is seen to later: \(error.description)")
            } catch let error as HabitStoreError
                where state.stage.awaitsMirror && error.code != .notAuthoritative && error.code != .outcomeUnknown
            {
                // No write is acknowledged without it, so its claim to have everything stays true; reads need not wait for it.
                actual.obstacle = error
                actual.notes.append("the \(other.engine.rawValue) store is seen to later: \(error.description)")
            }
        }
        try set(sealed.engine, .authoritative, epoch: epoch, state, expecting: sealed.place)
        return actual
    }

    /// Gives the role to the old store, which has everything, if the new one is gone or cannot be read.
    ///
    /// - Parameters:
    ///   - objection: what is wrong with a new store that could be read.
    ///   - doubt: what shows that the folder was restored from a copy, so that writes acknowledged after the copy are unknown.
    private func takeOver(
        on claiming: ReplicaStatus,
        _ engines: EnginePair,
        _ found: ReplicaStatuses,
        _ objection: HabitStoreError?,
        _ isKilled: Bool,
        _ doubt: String?
    ) throws -> ActualStage {
        let rescued = found.statuses.contains(where: \.isRescued) ? "its engine's library cannot open it" : nil
        let reason = objection?.description ?? found.failure?.description ?? rescued ?? "its file is missing"
        let other = engines.other(than: claiming.engine)
        var state = RolloutState(
            stage: .off,
            engines: EnginePair(old: claiming.engine, new: other),
            isKilled: isKilled
        )
        state.fled = isKilled ? other : nil
        state.evidence = claiming.state?.evidence
        state.turns = claiming.state?.turns
        let epoch = try claimEpoch(above: found.highestEpoch)
        try set(claiming.engine, .authoritative, epoch: epoch, state, expecting: claiming.place)
        if isKilled { control.noteKilled(epoch) }
        var actual = ActualStage(state: state, epoch: epoch, token: claiming.token)
        actual.notes.append(
            "the \(other.rawValue) store cannot be served (\(reason)); the user is back on "
                + "\(claiming.engine.rawValue) at token \(claiming.token), "
                + (doubt.map { "and what was written after that cannot be known: \($0)" }
                    ?? "and nothing that was acknowledged is known to be missing there")
        )
        return actual
    }
}
