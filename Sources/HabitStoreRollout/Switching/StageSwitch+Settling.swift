import Foundation
@_spi(Engines) import HabitStore

extension StageSwitch {
    /// Finds out where the user is, and finishes or undoes a move that was interrupted.
    ///
    /// - Parameters:
    ///   - engines: those that users come from and go to, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user: a new store that does not answer is left then.
    /// - Returns: nil for a user without stores.
    /// - Throws: what is wrong with the user's current store. Another one is served in its place only where that is sure to
    ///   hold everything that was ever acknowledged.
    func settle(_ engines: EnginePair, isKilled: Bool = false) throws -> ActualStage? {
        let engines = try pair.engines(preferring: engines)
        // A step of a move that was given up may still have happened between the look and what followed from it.
        for _ in 1..<Self.mostLooks {
            do {
                return try settleOnce(engines, isKilled)
            } catch let error as HabitStoreError where error.underlying is Overtaken || error.code == .outcomeUnknown {
                // What has become of a step that nobody knows of is seen by looking again.
                continue
            }
        }
        return try settleOnce(engines, isKilled)
    }

    private static let mostLooks = 5

    private func settleOnce(_ engines: EnginePair, _ isKilled: Bool) throws -> ActualStage? {
        let witness = StoreWitness(pair.directory, control)
        if let standing = soleStanding(engines, witness), let state = standing.state {
            return ActualStage(state: state, epoch: standing.epoch, token: standing.token)
        }
        let found = try look(engines, witness)
        if let standing = found.standing(engines.old), let state = standing.state, isAllThereIsToKnow(standing, witness)
        {
            return ActualStage(state: state, epoch: standing.epoch, token: standing.token)
        }
        var actual = try settle(found, witness, engines, isKilled)
        if let current = actual.flatMap({ found.standing($0.engine) }) {
            actual?.putBack = whatWasPutBack(current, witness)
            if witness.isControlForeign(current.lineage) {
                control.disown()
                control.adopt(lineage: current.lineage, mark: current.token)
            } else {
                control.note(lineage: current.lineage)
            }
        }
        return actual
    }

    private func settle(
        _ found: StandingsFound,
        _ witness: StoreWitness,
        _ engines: EnginePair,
        _ isKilled: Bool
    ) throws -> ActualStage? {
        switch Whereabouts(found, engines, witness, isKilled: isKilled).answer {
        case .nobody: return nil
        case .serves(let standing):
            let actual = try settle(on: standing, found, engines, isKilled)
            // What the other store was to bring, it could not.
            if let objection = witness.objection(to: standing, at: actual.token) { throw objection }
            return actual
        case .acceptedElsewhere(let standing, let left):
            guard try yield(left.engine, to: standing.engine) else { throw Self.overtaken(pair.directory) }
            return try settle(engines, isKilled: isKilled)
        case .reopens(let sealed): return try reopen(sealed, found, engines)
        case .finishes(let left, let target):
            try finish(left, target)
            return try settle(engines, isKilled: isKilled)
        case .takesOver(let claiming, let objection):
            let doubt = whatWasPutBack(claiming, witness)
            return try land(on: claiming, engines, found, objection, isKilled, doubt)
        case .refused(let error): throw error
        }
    }

    /// What shows that the user's folder was put back. That of a user who belongs to no machine is a copy anyway.
    private func whatWasPutBack(_ standing: Standing, _ witness: StoreWitness) -> String? {
        if let state = standing.state, pair.isWithoutMachine(state) { return nil }
        return witness.whatWasPutBack(standing.epoch)
    }

    /// Makes the store of a user who has none, or finishes making it.
    ///
    /// - Throws: what is wrong with a file that is there and no store; nothing is put beside it.
    func createFirst(_ state: RolloutState) throws -> ActualStage {
        let engine = state.engine(state.stage.authority)
        _ = try standing(state.engines.other(than: engine))
        let place = try pair.create(engine).replicaRead { try pair.standing(engine, $0) }.place
        let epoch = max(Self.firstEpoch, control.floor)
        try set(engine, .authoritative, epoch: epoch, state, expecting: place)
        return ActualStage(state: state, epoch: epoch, token: .zero)
    }

    /// What the new store says of a user who has completed the way there, where the other one was seen to before: it has not
    /// followed since, and cannot be current as long as the new one says this.
    ///
    /// - Returns: nil where that is not so, or the store does not answer.
    private func soleStanding(_ engines: EnginePair, _ witness: StoreWitness) -> Standing? {
        guard !looksAtBoth, control.stage == .complete, let standing = try? standing(engines.new),
            standing.role == .authoritative,
            !standing.isRescued, let state = standing.state, state.stage == .complete, state.engines == engines,
            control.word == ControlFile.word(.complete, epoch: standing.epoch), control.isSettled(standing.epoch),
            witness.vouches(for: standing)
        else { return nil }
        return standing
    }

    /// What the stores say: the old one and, unless that is all there is to know, the new one.
    ///
    /// Where the old store seems to serve it is asked on this thread: nothing could be served if it hung, and a change of threads
    /// takes longer than all the rest on a busy machine. Else both are asked in one step, where each has the time of one for
    /// itself; a store that does not answer is told from the other, which is asked all the same.
    private func look(_ engines: EnginePair, _ witness: StoreWitness) throws -> StandingsFound {
        let (old, new) = (engines.old, engines.new)
        let answers = StandingAnswers()
        if control.stage?.authority == .old {
            let standing = answers.ask(old, pair)
            if standing.map({ isAllThereIsToKnow($0, witness) }) == true { return answers.found }
        }
        var found: StandingsFound
        do {
            found = try step(old) { [pair] progress in
                if !answers.found.answered.contains(old) {
                    let standing = answers.ask(old, pair)
                    if standing.map({ isAllThereIsToKnow($0, witness) }) == true { return answers.found }
                    progress.advance()
                }
                _ = answers.ask(new, pair)
                return answers.found
            }
        } catch {
            found = answers.found
            let hasOld = found.answered.contains(old)
            found.note(hasOld ? new : old, .failure(error), pair)
            if !hasOld { found.note(new, Result { try standing(new) }, pair) }
        }
        // What stood in its way may have been there for a moment; who has waited for it already does not wait again.
        if let failure = found.failures[old], failure.code != .busy {
            found.note(old, Result { try standing(old) }, pair)
        }
        // Both were not asked at one moment: a write may have come to both in between.
        if let ahead = found.standings.max(by: { $0.token < $1.token }), ahead.role == .standby {
            let behind = engines.other(than: ahead.engine)
            found.note(behind, Result { try standing(behind) }, pair)
        }
        return pair.mayDiffer ? pair.withoutMigrations(found, limitSeconds: stepLimitSeconds) : found
    }

    /// Whether the old store is authoritative, and as current as the user: what the new one says cannot matter then, and it
    /// may not answer.
    private func isAllThereIsToKnow(_ old: Standing, _ witness: StoreWitness) -> Bool {
        guard !looksAtBoth, old.role == .authoritative, old.epoch >= Self.firstEpoch, let state = old.state else {
            return false
        }
        return state.engines.old == old.engine && state.stage.authority == .old && witness.vouches(for: old)
    }

    // MARK: A store that another machine has accepted

    /// Takes its role from the store that serves where the copy of it was accepted as the current one elsewhere: a machine that other
    /// people took for lost.
    ///
    /// - Returns: whether that is so; nobody is served here before both stores were looked at.
    func yield(_ engine: EngineName, to other: EngineName) throws -> Bool {
        guard pair.known.isShared(other), let here = try standing(engine), here.role == .authoritative,
            let there = try standing(other), there.hasServed, there.role == .authoritative,
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

    private func settle(
        on current: Standing,
        _ found: StandingsFound,
        _ engines: EnginePair,
        _ isKilled: Bool
    ) throws -> ActualStage {
        let state = current.state ?? RolloutState(unknown: current.engine, engines)
        guard state.engine(state.stage.authority) == current.engine else {
            throw HabitStoreError(
                .corrupt,
                "the store is authoritative and says that at the stage \(state.stage.rawValue) it is not; restore it",
                at: .init(path: pair.address(current.engine).path)
            )
        }
        var actual = ActualStage(state: state, epoch: current.epoch, token: current.token)
        if current.epoch < max(Self.firstEpoch, control.floor), !current.isRescued { try raise(current, &actual) }
        let other = engines.other(than: current.engine)
        do {
            if state.stage.awaitsMirror, let failure = found.failures[other] { throw failure }
            try finish(other, found.standing(other), current, &actual, isKilled)
            if found.failures.isEmpty { control.noteSettled(actual.epoch) }
        } catch let error as HabitStoreError {
            if state.stage.awaitsMirror { actual.obstacle = error }
            actual.notes.append("the \(other.rawValue) store is seen to later: \(error.description)")
        }
        return actual
    }

    /// Gives the store that serves the epoch that a move has claimed which came to nothing. It can wait: until then each of
    /// its writes takes another look before it is acknowledged.
    private func raise(_ current: Standing, _ actual: inout ActualStage) throws {
        let epoch = try claimEpoch(above: current.epoch)
        do {
            try set(current.engine, .authoritative, epoch: epoch, actual.state, expecting: current.place)
            actual.epoch = epoch
        } catch let error as HabitStoreError where current.epoch >= Self.firstEpoch && error.code != .notAuthoritative {
            if error.code == .outcomeUnknown, let now = try? standing(current.engine), now.epoch == epoch {
                actual.epoch = epoch
                return
            }
            actual.notes.append("the \(current.engine.rawValue) store is given its epoch later: \(error.description)")
        }
    }

    /// The last steps of a move that was interrupted.
    private func finish(
        _ engine: EngineName,
        _ other: Standing?,
        _ current: Standing,
        _ actual: inout ActualStage,
        _ isKilled: Bool
    ) throws {
        let state = actual.state
        guard let other else {
            guard state.stage.awaitsMirror else { return }
            throw HabitStoreError(
                .notFound,
                "the \(engine.rawValue) store is missing, and nothing can be acknowledged without it: "
                    + "restore the file, or go on to the stage complete",
                at: .init(path: pair.address(engine).path)
            )
        }
        guard other.lineage == current.lineage else {
            // Another user's, or a new one that nothing was copied into: it is given no role.
            guard !state.stage.awaitsMirror else { throw Self.parted(pair.address(other.engine)) }
            return
        }
        if state.stage.awaitsMirror {
            // An unfinished copy is given no role, whatever token it has.
            guard other.role != .backfilling else { throw Self.parted(pair.address(other.engine)) }
            try equalize(current, other, &actual)
            // A kill gives the store another state at once: one transaction less to wait for.
            guard other.role != .standby || other.epoch != actual.epoch || other.state != state && !isKilled else {
                return
            }
        } else {
            guard other.role == .sealed || other.role == .authoritative else { return }
            // What it is ahead by was in flight when it was left, and nobody was told of it. On standby it would be taken for
            // proof that the store which serves is older.
            guard other.token <= current.token else {
                return try keepSealed(other, &actual)
            }
        }
        try set(other.engine, .standby, epoch: actual.epoch, state, expecting: other.place)
    }

    /// Leaves a store where it is that was left in the middle of a write, and that nobody is to follow.
    private func keepSealed(_ other: Standing, _ actual: inout ActualStage) throws {
        actual.notes.append(
            "the \(other.engine.rawValue) store holds a write that nobody was told of, and is to be mended"
        )
        guard other.role == .authoritative else { return }
        var sealed = other.state ?? actual.state
        sealed.movingTo = actual.stage
        try set(other.engine, .sealed, epoch: other.epoch, sealed, expecting: other.place)
    }

    /// Makes both stores equal where writes go to both: what reached only the one that is written first is carried over.
    private func equalize(_ current: Standing, _ other: Standing, _ actual: inout ActualStage) throws {
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

    /// Finishes a move that was decided in the store that was left.
    private func finish(_ left: Standing, _ target: Standing) throws {
        guard var state = left.state else { return }
        state.movingTo = nil
        try set(target.engine, .authoritative, epoch: left.epoch, state, expecting: target.place)
        CrashPoint.reach("switch.opened")
        try set(left.engine, .standby, epoch: left.epoch, state, expecting: left.place)
    }

    /// A move got no further than sealing: the sealed store takes its role again.
    private func reopen(_ sealed: Standing, _ found: StandingsFound, _ engines: EnginePair) throws -> ActualStage {
        var state = sealed.state ?? RolloutState(unknown: sealed.engine, engines)
        state.movingTo = nil
        let epoch = try claimEpoch(above: found.highestEpoch)
        var actual = ActualStage(state: state, epoch: epoch, token: sealed.token)
        if let other = found.standing(engines.other(than: sealed.engine)) {
            do {
                if state.stage.awaitsMirror { try equalize(sealed, other, &actual) }
                if state.stage.awaitsMirror || other.claimsAll {
                    try set(other.engine, .standby, epoch: epoch, state, expecting: other.place)
                }
            } catch let error as HabitStoreError where error.code == .historyExpired && other.token < sealed.token {
                // It only lacks what the sealed store holds, and no history brings it there: a copy has to.
                actual.obstacle = error
                actual.notes.append("the \(other.engine.rawValue) store is seen to later: \(error.description)")
            }
        }
        try set(sealed.engine, .authoritative, epoch: epoch, state, expecting: sealed.place)
        return actual
    }

    /// The new store is gone or cannot be read, and the old one holds everything: it takes over.
    ///
    /// - Parameters:
    ///   - objection: what is wrong with a new store that could be read.
    ///   - doubt: what shows that the folder was put back, so that nobody can tell what was acknowledged after the copy was made.
    private func land(
        on claiming: Standing,
        _ engines: EnginePair,
        _ found: StandingsFound,
        _ objection: HabitStoreError?,
        _ isKilled: Bool,
        _ doubt: String?
    ) throws -> ActualStage {
        let rescued = found.standings.contains(where: \.isRescued) ? "its engine's library cannot open it" : nil
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
