import HabitStore

extension StageSwitch {
    /// Where a user is read while no store can be given the role: what a move has sealed, or the old store that holds
    /// everything, cannot be written now, for want of room, say. Nothing is changed, and nobody is moved by it.
    ///
    /// A sealed store takes no writes, and what stands by with a claim is written before any other: whatever is acknowledged
    /// before somebody publishes another stage or epoch, the store that is read has it.
    ///
    /// - Parameters:
    ///   - engines: those that users come from and go to, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user.
    ///   - failure: why the user could not be settled.
    /// - Returns: nil where no store is sure to hold everything that was acknowledged, or the user was moved meanwhile.
    func hold(_ engines: EnginePair, isKilled: Bool, because failure: HabitStoreError) throws -> ActualStage? {
        // Of these the next look knows more.
        guard !(failure.underlying is Overtaken), failure.code != .fileMoved, failure.code != .closed else {
            return nil
        }
        let engines = try pair.engines(preferring: engines)
        let witness = StoreWitness(pair.directory, control)
        var held: ActualStage
        let reason: String
        switch Whereabouts(try look(engines, witness), engines, witness, isKilled: isKilled).answer {
        case .reopens(let sealed):
            var state = sealed.state ?? RolloutState(unknown: sealed.engine, engines)
            state.movingTo = nil
            guard state.engine(state.stage.authority) == sealed.engine,
                witness.objection(to: sealed, at: sealed.token) == nil
            else { return nil }
            held = ActualStage(state: state, epoch: sealed.epoch, token: sealed.token)
            reason = "a move was interrupted, and cannot be finished or undone"
        case .takesOver(let claiming, _):
            held = ActualStage(
                state: landed(on: claiming, engines, isKilled: false),
                epoch: claiming.epoch,
                token: claiming.token
            )
            reason = "the \(claiming.engine.rawValue) store is to take over, and cannot"
        case .nobody, .serves, .refused: return nil
        }
        guard !control.isPassed(held.epoch) else { return nil }
        held.refusal = HabitStoreError(
            // It is the code of that step, and not of any write of the app's.
            failure.code == .outcomeUnknown ? .inputOutput : failure.code,
            "the user is served for reading only: \(reason) now (\(failure.message))",
            at: failure.location,
            underlying: failure
        )
        return held
    }
}
