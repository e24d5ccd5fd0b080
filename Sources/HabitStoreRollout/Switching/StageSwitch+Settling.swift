import Foundation
import HabitStore

extension StageSwitch {
    /// Finds out where the user is, and finishes or undoes a move that was interrupted.
    ///
    /// - Parameters:
    ///   - old: the engine that users come from, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user: a new store that does not answer is left then.
    /// - Returns: nil for a user without stores.
    /// - Throws: what is wrong with the user's current store. Another one is served in its place only where that is sure to
    ///   hold everything that was ever acknowledged.
    func settle(old: EngineName, isKilled: @autoclosure () -> Bool = false) throws -> Actual? {
        if let standing = soleStanding(old.other), let state = standing.state {
            return Actual(state: state, epoch: standing.epoch, token: standing.token)
        }
        let found = look(first: old)
        if let standing = found.standing(old), let state = standing.state, Self.isAllThereIsToKnow(standing) {
            return Actual(state: state, epoch: standing.epoch, token: standing.token)
        }
        let authoritative = found.standings.filter { $0.role == .authoritative }
            .max { ($0.epoch, $0.token) < ($1.epoch, $1.token) }
        if let authoritative, found.failures.isEmpty || isCurrent(authoritative, old: old) {
            return try settle(on: authoritative, found, old: old)
        }
        if let sealed = found.standings.first(where: { $0.role == .sealed }) {
            return try reopen(sealed, found, old: old)
        }
        if let claiming = found.standings.first(where: claims) { return try land(on: claiming, found, isKilled()) }
        if let failure = found.failure {
            // No store was ever given a role here: a process was killed while it made the user's first one.
            if found.standings.isEmpty, control.floor == 0, found.failures.values.allSatisfy({ $0.code == .notAStore })
            {
                return nil
            }
            throw failure
        }
        guard let standby = found.standings.first else { return nil }
        throw HabitStoreError(
            .notAuthoritative,
            "the user's current store is missing; the \(standby.engine.rawValue) store beside it is a copy at token "
                + "\(standby.token) and is not served in its place: restore the missing file",
            at: .init(path: pair.directory.path)
        )
    }

    /// Makes the store of a user who has none, or finishes making it.
    ///
    /// - Throws: what is wrong with a file that is there and no store; nothing is put beside it.
    func createFirst(_ state: RolloutState) throws -> Actual {
        let engine = state.engine(state.stage.authority)
        _ = try standing(engine.other)
        _ = try pair.create(engine)
        let epoch = max(Self.firstEpoch, control.floor)
        try set(engine, .authoritative, epoch: epoch, state)
        return Actual(state: state, epoch: epoch, token: .zero)
    }

    /// What the new store says of a user who has completed the way there, where the other one was seen to before: it has not
    /// followed since, and cannot be current as long as the new one says this.
    ///
    /// - Returns: nil where that is not so, or the store does not answer.
    private func soleStanding(_ new: EngineName) -> Standing? {
        guard control.stage == .complete, let standing = try? standing(new), standing.role == .authoritative,
            let state = standing.state, state.stage == .complete, state.old == new.other,
            control.word == ControlFile.word(.complete, epoch: standing.epoch), control.isSettled(standing.epoch),
            control.floor <= standing.epoch
        else { return nil }
        return standing
    }

    /// What the stores say: the old one and, unless that is all there is to know, the new one.
    ///
    /// Where the old store seems to serve it is asked on this thread: nothing could be served if it hung, and a change of threads
    /// takes longer than all the rest on a busy machine. Else both are asked in one step, where each has the time of one for
    /// itself; a store that does not answer is told from the other, which is asked all the same.
    private func look(first old: EngineName) -> StandingsFound {
        if control.stage?.authority == .old {
            let answers = StandingAnswers()
            if answers.ask(old, pair).map(Self.isAllThereIsToKnow) == true { return answers.found }
        }
        let answers = StandingAnswers()
        var found: StandingsFound
        do {
            found = try step(old) { [pair] progress in
                let standing = answers.ask(old, pair)
                if standing.map(Self.isAllThereIsToKnow) == true { return answers.found }
                progress.advance()
                _ = answers.ask(old.other, pair)
                return answers.found
            }
        } catch {
            found = answers.found
            let hasOld = found.answered.contains(old)
            found.note(hasOld ? old.other : old, .failure(error), pair)
            if !hasOld { found.note(old.other, Result { try standing(old.other) }, pair) }
        }
        // What stood in its way may have been there for a moment.
        if found.failures[old] != nil { found.note(old, Result { try standing(old) }, pair) }
        return found
    }

    /// Whether the old store is authoritative: what the new one says cannot matter then, and it may not answer.
    private static func isAllThereIsToKnow(_ old: Standing) -> Bool {
        guard old.role == .authoritative, old.epoch >= firstEpoch, let state = old.state else { return false }
        return state.old == old.engine && state.stage.authority == .old
    }

    /// Whether a store that calls itself authoritative can be believed beside one that cannot be read: one that never
    /// served anybody (epoch 0) decides nothing. The old store is sealed before the new one is given the role, but the old
    /// one may have been given it without that, by the kill switch.
    private func isCurrent(_ standing: Standing, old: EngineName) -> Bool {
        let isOld = standing.engine == standing.state?.old ?? old
        return standing.epoch >= max(Self.firstEpoch, isOld ? 0 : control.floor)
    }

    /// Whether a store is the old one and sure to hold everything that was ever acknowledged or shown.
    func claims(_ standing: Standing) -> Bool {
        guard let state = standing.state, state.side(standing.engine) == .old else { return false }
        return standing.role == .sealed
            ? state.movingTo != nil && state.movingTo != .complete : standing.role == .standby && state.claimsAll
    }

    // MARK: The authoritative store

    private func settle(on current: Standing, _ found: StandingsFound, old: EngineName) throws -> Actual {
        let state = current.state ?? RolloutState(stage: current.engine == old ? .off : .complete, old: old)
        guard state.engine(state.stage.authority) == current.engine else {
            throw HabitStoreError(
                .corrupt,
                "the store is authoritative and says that at the stage \(state.stage.rawValue) it is not; restore it",
                at: .init(path: pair.directory.address(current.engine).path)
            )
        }
        var actual = Actual(
            state: state,
            epoch: max(current.epoch, Self.firstEpoch, control.floor),
            token: current.token
        )
        let other = current.engine.other
        do {
            if state.stage.awaitsMirror, let failure = found.failures[other] { throw failure }
            try finish(found.standing(other), current, &actual)
            if found.failures.isEmpty { control.noteSettled(actual.epoch) }
        } catch let error as HabitStoreError {
            if state.stage.awaitsMirror { actual.obstacle = error }
            actual.notes.append("the \(other.rawValue) store is seen to later: \(error.description)")
        }
        if actual.epoch != current.epoch { try set(current.engine, .authoritative, epoch: actual.epoch, state) }
        return actual
    }

    /// The last steps of a move that was interrupted.
    private func finish(_ other: Standing?, _ current: Standing, _ actual: inout Actual) throws {
        let state = actual.state
        guard let other else {
            guard state.stage.awaitsMirror else { return }
            throw HabitStoreError(
                .notFound,
                "the \(current.engine.other.rawValue) store is missing, and nothing can be acknowledged without it: "
                    + "restore the file, or go on to the stage complete",
                at: .init(path: pair.directory.address(current.engine.other).path)
            )
        }
        if state.stage.awaitsMirror {
            try equalize(current, other, &actual)
            guard other.role != .standby || other.epoch != actual.epoch || other.state != state else { return }
        } else {
            guard other.role == .sealed || other.role == .authoritative else { return }
        }
        try set(other.engine, .standby, epoch: actual.epoch, state)
    }

    /// Makes both stores equal where writes go to both: what reached only the one that is written first is carried over.
    private func equalize(_ current: Standing, _ other: Standing, _ actual: inout Actual) throws {
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

    /// A move got no further than sealing: the sealed store takes its role again.
    private func reopen(_ sealed: Standing, _ found: StandingsFound, old: EngineName) throws -> Actual {
        // The store that cannot be read may be the one that was given the role; unless the sealed one has to be written
        // first for anything to be acknowledged.
        if let failure = found.failure, !claims(sealed) { throw failure }
        var state = sealed.state ?? RolloutState(stage: sealed.engine == old ? .off : .complete, old: old)
        state.movingTo = nil
        let epoch = max(found.highestEpoch, control.floor) + 1
        var actual = Actual(state: state, epoch: epoch, token: sealed.token)
        if let other = found.standing(sealed.engine.other) {
            if state.stage.awaitsMirror { try equalize(sealed, other, &actual) }
            if state.stage.awaitsMirror || claims(other) { try set(other.engine, .standby, epoch: epoch, state) }
        }
        try set(sealed.engine, .authoritative, epoch: epoch, state, expecting: (.sealed, sealed.epoch))
        return actual
    }

    /// The new store is gone or cannot be read, and the old one holds everything: it takes over.
    private func land(on claiming: Standing, _ found: StandingsFound, _ isKilled: Bool) throws -> Actual {
        if !isKilled, let failure = found.failure,
            [.busy, .newerVersion, .migrationRequired, .schemaMismatch, .permissionDenied].contains(failure.code)
        {
            // The file may be sound: whoever can read it has to decide.
            throw failure
        }
        let reason = found.failure?.description ?? "its file is missing"
        var state = RolloutState(stage: .off, old: claiming.engine, isKilled: isKilled)
        state.evidence = claiming.state?.evidence
        let epoch = max(found.highestEpoch, control.floor) + 1
        try set(claiming.engine, .authoritative, epoch: epoch, state, expecting: (claiming.role, claiming.epoch))
        var actual = Actual(state: state, epoch: epoch, token: claiming.token)
        actual.notes.append(
            "the \(claiming.engine.other.rawValue) store cannot be served (\(reason)); the user is back on "
                + "\(claiming.engine.rawValue), which holds everything that was acknowledged"
        )
        return actual
    }
}
