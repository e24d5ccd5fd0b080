import Foundation
@_spi(Engines) import HabitStore

extension OpenUser {
    /// The one place where a user is moved by hand or by what was found: takes the lock of the user's switches, finds out where
    /// the user is, has `act` decide and act, writes down what came of it, and puts the new route in force.
    ///
    /// - Parameters:
    ///   - reason: why the user is moved; nil where `act` writes down itself what it has done.
    ///   - find: says where the user is, or nil to do nothing.
    ///   - act: says where the user is then, or nil for a user who stays.
    func move(
        _ reason: StageChangeReason?,
        because: String? = nil,
        from find: (Look, inout State) throws -> ActualStage?,
        _ act: (Look, ActualStage, inout State) throws -> ActualStage?
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
                // Where the store that serves has changed, or begun to be other machines' as well, it is to know what led there.
                context.evidence.synchronize(moved, pair)
            }
        }
    }

    /// The same for a user who is where the flags and the kill switch have led to by then.
    func move(
        _ reason: StageChangeReason?,
        because: String? = nil,
        _ act: (Look, ActualStage, inout State) throws -> ActualStage?
    ) throws {
        try move(reason, because: because, from: { look, state in try reroute(&state, look).actual }, act)
    }

    /// Takes the user to an earlier stage.
    ///
    /// - Parameters:
    ///   - stage: the stage to go to; nil for the one before.
    ///   - because: why, for the evidence; nil if not given.
    ///   - onlyFrom: the only stage that the user is taken back from; nil for any.
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the stage is no earlier one; why the move failed.
    func moveBack(
        to stage: Stage?,
        reason: StageChangeReason,
        because: String? = nil,
        onlyFrom: Stage? = nil
    ) throws {
        try withOldUp {
            try move(reason, because: because) { look, actual, _ in
                if let onlyFrom, actual.stage != onlyFrom { return nil }
                // The kill switch may have been waiting for the copy.
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

    /// The copy that is to follow was accepted as the user's current store on another machine: the user is not served here any more
    /// before both were looked at.
    func yield(_ actual: ActualStage) {
        guard pair.known.isShared(actual.other) else { return }
        do {
            try state.withLock { _ in
                try withSwitch { look in
                    guard try look.change.yield(actual.engine, to: actual.other) else { return }
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

    /// Lets a killed user go forward again.
    ///
    /// - Returns: whether the user was killed.
    func rearm(by person: String) throws -> Bool {
        var wasKilled = false
        try move(
            nil,
            from: { look, _ in
                // It may have been pulled while the lock was waited for.
                try flags.requireNoKill(for: context.subject)
                let actual = try look.change.settle(context.stillWanted.engines)
                if let actual, actual.state.isKilled { return actual }
                // A kill that no store has been told of yet is forgotten where it is remembered.
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

    /// A shadow read came out differently.
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
