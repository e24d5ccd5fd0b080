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
                // If another store serves now, or it is now shared with other machines, it must have the evidence that led there.
                context.evidence.synchronize(moved, pair)
            }
        }
    }

    /// The same, from where the flags and the kill switch have taken the user by then.
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
                let actual = try look.change.settle(context.stillWanted.engines)
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
