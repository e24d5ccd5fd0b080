import Foundation
import HabitStore

extension StageSwitch {
    /// Moves the user to another stage. Whether that is allowed has been decided before.
    ///
    /// - Parameters:
    ///   - actual: where the user is, as ``settle(old:)`` found it.
    ///   - isKilled: whether the user is kept from going forward from now on.
    ///   - evidence: the place that the user's evidence has come to; nil for what the stores remember.
    ///   - check: runs while nobody can write and both stores are at one token, when the role changes hands.
    /// - Throws: why the user stays; nothing was handed over then.
    func move(
        _ actual: Actual,
        to stage: Stage,
        isKilled: Bool = false,
        evidence: EvidenceHead? = nil,
        check: () throws -> Void = {}
    ) throws -> Actual {
        var target = actual
        target.state.stage = stage
        target.state.isKilled = isKilled
        guard target.state != actual.state else { return actual }
        target.state.evidence = evidence ?? actual.state.evidence
        target.epoch = max(actual.epoch, control.floor) + 1
        target.notes = []
        target.obstacle = nil
        if actual.stage.authority == .old, stage.authority == .old {
            try set(
                actual.engine,
                .authoritative,
                epoch: target.epoch,
                target.state,
                expecting: (.authoritative, actual.epoch)
            )
            CrashPoint.reach("switch.opened")
            return target
        }
        var sealed = actual.state
        sealed.movingTo = stage
        try set(actual.engine, .sealed, epoch: actual.epoch, sealed, expecting: (.authoritative, actual.epoch))
        CrashPoint.reach("switch.sealed")
        do {
            try handOver(from: actual, to: &target, check)
        } catch {
            // What can be undone is undone now, and the rest when somebody looks next.
            control.invalidate()
            _ = try? settle(old: actual.state.old)
            throw error
        }
        return target
    }

    private func handOver(from actual: Actual, to target: inout Actual, _ check: () throws -> Void) throws {
        let state = target.state
        let (old, new) = (state.engine(.old), state.engine(.new))
        switch (actual.stage.authority, state.stage.authority) {
        case (.old, _):
            try drain(old, into: new)
            try check()
            try open(new, state, target.epoch)
            try finish(old, state, &target)
        case (.new, .old):
            // Where the old store is written first it may hold one write more, which nobody was told of.
            if try standing(old)?.token ?? .zero < (try standing(new)?.token ?? .zero) { try drain(new, into: old) }
            try check()
            try open(old, state, target.epoch)
            try finish(new, state, &target)
        case (.new, .new):
            if state.stage.awaitsMirror, try standing(old)?.token ?? .zero < (try standing(new)?.token ?? .zero) {
                try drain(new, into: old)
            }
            // The claim of the old store comes and goes before the new one takes writes again.
            try set(old, .standby, epoch: target.epoch, state)
            CrashPoint.reach("switch.claimed")
            try open(new, state, target.epoch)
        }
    }

    private func open(_ engine: EngineName, _ state: RolloutState, _ epoch: Int) throws {
        try set(engine, .authoritative, epoch: epoch, state)
        CrashPoint.reach("switch.opened")
    }

    /// The store that was left. From here on the other one is current, whatever happens to this: sealed it takes no writes,
    /// and whoever looks next puts it on standby.
    private func finish(_ engine: EngineName, _ state: RolloutState, _ target: inout Actual) throws {
        do {
            try set(engine, .standby, epoch: target.epoch, state)
            CrashPoint.reach("switch.finished")
        } catch let error as HabitStoreError {
            if state.stage.awaitsMirror { target.obstacle = error }
            target.notes.append("the \(engine.rawValue) store is put on standby later: \(error.description)")
        }
    }

    /// Has the engines change their parts, for a user whom only one of them serves: who has completed the way there stands
    /// at the beginning of the way back.
    func turn(_ actual: Actual) throws -> Actual {
        var target = actual
        target.state.old = actual.state.old.other
        target.state.stage = actual.stage == .off ? .complete : .off
        target.epoch = max(actual.epoch, control.floor) + 1
        try set(
            actual.engine,
            .authoritative,
            epoch: target.epoch,
            target.state,
            expecting: (.authoritative, actual.epoch)
        )
        return target
    }

    /// Takes the user back to the old store at once.
    ///
    /// Where the new store cannot be sealed, because it is damaged, full or hung, the old one takes over without it if it
    /// claims to hold everything. A write that the new store is still busy with has to be in the old one first, and is
    /// refused there.
    ///
    /// - Parameter isKilled: whether the user is kept there.
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` when the old store is not current and cannot be made so.
    func kill(_ actual: Actual, isKilled: Bool = true, evidence: EvidenceHead? = nil) throws -> Actual {
        let old = actual.state.engine(.old)
        do {
            return try move(actual, to: .off, isKilled: isKilled, evidence: evidence)
        } catch {
            guard actual.stage.authority == .new else { throw error }
            var state = RolloutState(stage: .off, old: old, isKilled: isKilled)
            state.evidence = evidence ?? actual.state.evidence
            guard let standing = try standing(old), claims(standing) || hasTakenOver(standing, from: actual) else {
                throw HabitStoreError(
                    .notAuthoritative,
                    "the user cannot be taken back to \(old.rawValue), which is not current, and "
                        + "\(old.other.rawValue) cannot be read to bring it up: \(error)",
                    at: .init(path: pair.directory.path),
                    underlying: error
                )
            }
            var target = actual
            target.state = state
            target.epoch = max(actual.epoch, standing.epoch, control.floor) + 1
            target.token = standing.token
            target.obstacle = nil
            try set(
                old,
                .authoritative,
                epoch: target.epoch,
                state,
                expecting: (standing.role, standing.epoch)
            )
            target.notes = ["\(old.other.rawValue) was left without being sealed: \(error)"]
            return target
        }
    }

    /// Whether a store was given the role behind a user's last stage. One that was only just made calls itself authoritative
    /// too, in the epoch 0.
    private func hasTakenOver(_ standing: Standing, from actual: Actual) -> Bool {
        standing.role == .authoritative && standing.epoch > actual.epoch
    }
}
