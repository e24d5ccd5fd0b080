import Foundation
@_spi(Engines) import HabitStore

extension StageSwitch {
    /// Moves the user to another stage, which the caller has already decided to allow.
    ///
    /// - Parameters:
    ///   - actual: where the user is, from ``recover(_:isKilled:)``.
    ///   - isKilled: whether to keep the user from moving forward afterwards.
    ///   - evidence: the evidence state to record in the stores; nil to keep theirs.
    ///   - flags: the flag file that puts the user there directly; recorded with the move, and not if the move fails.
    ///   - placement: how the flags placed the user; nil for a move by other means.
    ///   - check: runs when the role changes hands, while no process can write and both stores are at one token.
    /// - Throws: why the user stays; then the role was not handed over.
    func move(
        _ actual: ActualStage,
        to stage: Stage,
        isKilled: Bool = false,
        evidence: EvidenceTrust? = nil,
        swappedBy flags: String? = nil,
        placedBy placement: Placement? = nil,
        check: () throws -> Void = {}
    ) throws -> ActualStage {
        var target = actual
        target.state.stage = stage
        target.state.isKilled = isKilled
        target.state.fled = isKilled ? actual.state.fled ?? actual.state.engine(.new) : nil
        if let flags { target.state.rememberSwap(by: flags) }
        if let placement { target.state.placedBy = placement }
        guard target.state != actual.state else { return actual }
        target.state.remember(evidence)
        // Obstacles to the move are found before it claims anything.
        if actual.stage == .off {
            // A store that does not answer does not block a stage at which it only follows.
            let twins = try? step(actual.other) { [pair] in pair.objection(toTwins: actual.engine, actual.other) }
            if let twins { throw twins }
        }
        if actual.stage.authority != .old || stage.authority != .old {
            let other = actual.other
            _ = try place(other)
            guard let here = try status(actual.engine), let there = try status(other), there.lineage == here.lineage
            else { throw Self.parted(pair.address(other)) }
            guard stage == .complete || there.token >= here.information.historyFloor else {
                throw cannotFollow(other, "is at token \(there.token)")
            }
            if actual.stage.authority == .new, !(try isContained(here, in: there)) {
                try StorePair.requireOneVersion(try pair.store(actual.engine), try pair.store(other))
            }
        }
        if actual.stage.authority == .old, stage.authority == .old {
            let moved = try updateState(actual) { $0 = target.state }
            CrashPoint.reach("switch.opened")
            return moved
        }
        target.epoch = try claimEpoch(above: actual.epoch)
        target.obstacle = nil
        let place = StorePlace(role: .authoritative, epoch: actual.epoch)
        var sealed = actual.state
        sealed.movingTo = stage
        try set(actual.engine, .sealed, epoch: actual.epoch, sealed, expecting: place)
        CrashPoint.reach("switch.sealed")
        do {
            try handOver(from: actual, to: &target, check)
        } catch {
            // What can be undone is undone now, and the rest by the next settling.
            control.invalidate()
            _ = try? recover(actual.state.engines)
            throw error
        }
        return target
    }

    /// Claims the next epoch for a move. A process that claims a later one overtakes the move.
    ///
    /// - Throws: ``HabitStoreError/Code/fileMoved`` if other processes cannot see the claim, since the control file is not in place.
    func claimEpoch(above epoch: Int) throws -> Int {
        let next = control.claim(above: epoch)
        guard control.isInPlace else {
            throw HabitStoreError(
                .fileMoved,
                "the user's control file was cut off, removed or replaced meanwhile; the user was not moved, and the "
                    + "next operation makes a new one",
                at: .init(path: pair.directory.path)
            )
        }
        if isPassing { control.notePassing(next) }
        return next
    }

    private func handOver(from actual: ActualStage, to target: inout ActualStage, _ check: () throws -> Void) throws {
        let state = target.state
        let (old, new) = (state.engines.old, state.engines.new)
        let sealed = StorePlace(role: .sealed, epoch: actual.epoch)
        switch (actual.stage.authority, state.stage.authority) {
        case (.old, _):
            try drain(old, into: new)
            try check()
            let left = try decide(old, state, target.epoch, expecting: sealed)
            try open(new, state, target.epoch, expecting: try place(new))
            try finish(old, state, &target, expecting: left)
        case (.new, .old):
            // If the old store is written first, it may have one more write, which was never acknowledged.
            if try status(old)?.token ?? .zero < (try status(new)?.token ?? .zero) { try drain(new, into: old) }
            try check()
            let left = try decide(new, state, target.epoch, expecting: sealed)
            try open(old, state, target.epoch, expecting: try place(old))
            try finish(new, state, &target, expecting: left)
        case (.new, .new):
            let (there, here) = (try status(old)?.token ?? .zero, try status(new)?.token ?? .zero)
            if there > here {
                // The process of this write died before committing it here. It was never acknowledged, but no other write may get its number.
                try drain(old, into: new)
                target.token = there
            } else if state.stage.awaitsMirror, there < here {
                try drain(new, into: old)
            }
            // The old store's claim is in place before the new one takes writes again.
            try set(old, .standby, epoch: target.epoch, state, expecting: try place(old))
            CrashPoint.reach("switch.claimed")
            try open(new, state, target.epoch, expecting: sealed)
        }
    }

    /// The role and epoch of a store that will be changed; it must not be serving.
    private func place(_ engine: EngineName) throws -> StorePlace {
        guard let status = try status(engine) else {
            throw HabitStoreError(
                .notFound,
                "the \(engine.rawValue) store is missing",
                at: .init(path: pair.address(engine).path)
            )
        }
        switch status.role {
        case .standby, .sealed: return status.place
        case .authoritative where status.epoch < control.confirmed:
            throw cannotFollow(engine, "was put back from a copy")
        case .backfilling:
            throw HabitStoreError(
                .staleStore,
                "the \(engine.rawValue) store is an unfinished copy: try again when it is finished, which the mirror sees to, or "
                    + "`\(OperatorCommand.name) rollout doctor --user U --fix` where the user cannot be written to",
                at: .init(path: pair.address(engine).path)
            )
        case .authoritative: throw Self.overtaken(pair.directory)
        }
    }

    /// The error of a move to a store that is not current and that no history can bring up to date.
    private func cannotFollow(_ engine: EngineName, _ what: String) -> HabitStoreError {
        HabitStoreError(
            .staleStore,
            "the \(engine.rawValue) store \(what), and the history of the store that serves does not reach back to it: "
                + "`\(OperatorCommand.name) rollout doctor --user U --fix` copies it again",
            at: .init(path: pair.address(engine).path)
        )
    }

    /// Decides the move in the store that the user leaves, if other machines can reach it: they could give a sealed store its role back while the
    /// other store is given it, and no epoch claimed here prevents that. From here on, the move can only be finished, by the next settling.
    ///
    /// - Returns: the role and epoch of that store afterwards.
    private func decide(
        _ engine: EngineName,
        _ state: RolloutState,
        _ epoch: Int,
        expecting sealed: StorePlace
    ) throws -> StorePlace {
        guard pair.known.isShared(engine) else { return sealed }
        try requireUnclaimed(epoch)
        var decided = state
        decided.movingTo = state.stage
        try set(engine, .standby, epoch: epoch, decided, expecting: sealed)
        CrashPoint.reach("switch.decided")
        return StorePlace(role: .standby, epoch: epoch)
    }

    /// Another process may have moved the user while this one was suspended.
    private func requireUnclaimed(_ epoch: Int) throws {
        guard control.floor == epoch else { throw Self.overtaken(pair.directory) }
    }

    private func open(_ engine: EngineName, _ state: RolloutState, _ epoch: Int, expecting place: StorePlace) throws {
        try requireUnclaimed(epoch)
        try set(engine, .authoritative, epoch: epoch, state, expecting: place)
        CrashPoint.reach("switch.opened")
    }

    /// Puts the former store on standby. The other one is current from now on, whatever happens here: a sealed store takes no writes, and the next
    /// settling puts it on standby.
    private func finish(
        _ engine: EngineName,
        _ state: RolloutState,
        _ target: inout ActualStage,
        expecting place: StorePlace
    ) throws {
        do {
            try set(engine, .standby, epoch: target.epoch, state, expecting: place)
            CrashPoint.reach("switch.finished")
        } catch let error as HabitStoreError {
            if state.stage.awaitsMirror { target.obstacle = error }
            target.notes.append("the \(engine.rawValue) store is put on standby later: \(error.description)")
        }
    }

    /// Swaps the roles of the engines, for a user served by only one of them: a user at the end of one rollout is at the beginning of the reverse
    /// one.
    ///
    /// - Parameters:
    ///   - engines: the new pair of engines; the serving one is among them.
    ///   - flags: the identity of the flag file that wants it.
    ///   - placement: how the flags decided it.
    func swap(
        _ actual: ActualStage,
        to engines: EnginePair,
        by flags: String,
        pairedBy placement: Placement?
    ) throws -> ActualStage {
        try updateState(actual) { state in
            state.engines = engines
            state.stage = actual.engine == engines.old ? .off : .complete
            (state.pairedBy, state.placedBy) = (placement, nil)
            state.rememberSwap(by: flags)
        }
    }

    /// Records in the serving store how the flags placed the user. Moves no user, so other processes need not check again.
    func note(_ placement: (stage: Placement?, engines: Placement?), of actual: ActualStage) throws -> ActualStage {
        let engine = actual.engine
        try change(engine, expecting: StorePlace(role: .authoritative, epoch: actual.epoch)) { [pair] replica, _ in
            // The store may have recorded evidence since.
            let now = try pair.status(engine, replica)
            guard var state = now.state else { return }
            (state.placedBy, state.pairedBy) = placement
            (state.owner, state.machine) = (now.owner ?? pair.directory.owner, now.machine?.text)
            try replica.setRolloutState(try state.encoded())
        }
        var noted = actual
        (noted.state.placedBy, noted.state.pairedBy) = placement
        return noted
    }

    /// Marks a store that does not serve as containing nothing: as a copy that has yet to begin. No move gives it a role.
    func disown(_ engine: EngineName) throws {
        do {
            guard let found = try status(engine), found.role != .backfilling else { return }
        } catch let error as HabitStoreError
            where AuthorityResolution.lastingDamage.contains(error.code) && !pair.known.isShared(engine)
        {
            // An unreadable file never gets a role, and no other machine reaches it.
            return
        }
        try change(engine, expecting: try place(engine)) { replica, information in
            try replica.setRole(.backfilling, epoch: information.epoch)
            try replica.setBackfillState(try Backfill.nothing(of: information.lineage))
        }
    }

    /// Changes the state of the serving store, which keeps serving, in the next epoch, so that all processes check again.
    func updateState(_ actual: ActualStage, _ change: (inout RolloutState) -> Void) throws -> ActualStage {
        var target = actual
        change(&target.state)
        target.epoch = try claimEpoch(above: actual.epoch)
        target.obstacle = nil
        let place = StorePlace(role: .authoritative, epoch: actual.epoch)
        try set(actual.engine, .authoritative, epoch: target.epoch, target.state, expecting: place)
        return target
    }

    /// Takes the user back to the old store immediately.
    ///
    /// If the new store cannot be sealed, because it is damaged, full or hung, its library is gone, or a process was suspended during a write to it,
    /// the old one takes over without it, if it claims to have everything, or can be brought up to date by reading. A write in progress in the new
    /// store is then not acknowledged: it must first be committed in the old one, which refuses it, or its writer notices the passed epoch. If the
    /// user is already on the old store, and that takes no writes now, the control file records the kill.
    ///
    /// - Parameter isKilled: whether to keep the user there.
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if the old store is not current and cannot be made current.
    func kill(_ actual: ActualStage, isKilled: Bool = true, evidence: EvidenceTrust? = nil) throws -> ActualStage {
        let failure: HabitStoreError
        do {
            let killed = try move(actual, to: .off, isKilled: isKilled, evidence: evidence)
            if isKilled { control.noteKilled(killed.epoch) }
            return killed
        } catch let error as HabitStoreError {
            failure = error
        }
        guard actual.stage.authority == .new else {
            guard isKilled, failure.code != .notAuthoritative else { throw failure }
            return try remember(actual, failure)
        }
        let (old, new) = (actual.state.engines.old, actual.state.engines.new)
        guard let status = try status(old),
            StatusCheck(pair.directory, control).objection(toOwnerOf: status) == nil
        else { throw cannotGoBack(actual, failure) }
        let isCurrent = holdsAllAcknowledged(status) || hasTakenOver(status, from: actual)
        // An attempt that cannot succeed claims nothing, since that would overtake the copy that is to bring the old store up to date. An epoch
        // claimed here does not stop writers on other machines, whose store was not sealed.
        guard isCurrent || canFollow(status, new) && !pair.isWithoutMachine(actual.state) else {
            throw cannotGoBack(actual, failure)
        }
        var target = actual
        target.state.stage = .off
        target.state.isKilled = isKilled
        target.state.fled = isKilled ? actual.state.engine(.new) : nil
        target.state.remember(evidence)
        target.epoch = try claimEpoch(above: max(actual.epoch, status.epoch))
        target.obstacle = nil
        target.token = status.token
        if !isCurrent {
            // From here on no process shows what the new store has, and its writers notice the passed epoch before they acknowledge anything.
            control.invalidate()
            CrashPoint.reach("kill.fenced")
            do { try drain(new, into: old) } catch { throw cannotGoBack(actual, failure) }
            target.token = try self.status(old)?.token ?? status.token
        }
        try set(old, .authoritative, epoch: target.epoch, target.state, expecting: status.place)
        CrashPoint.reach("switch.opened")
        if isKilled { control.noteKilled(target.epoch) }
        target.notes += ["\(new.rawValue) was left without being sealed: \(failure)"]
        return target
    }

    /// Whether one store has everything that another has, judged by history, if their versions differ, so that nothing can be carried over and tokens
    /// cannot be compared; true if they have the same version.
    private func isContained(_ here: ReplicaStatus, in there: ReplicaStatus) throws -> Bool {
        guard pair.mayDiffer else { return true }
        var found = ReplicaStatuses()
        for status in [here, there] { found.note(status.engine, .success(status), pair) }
        guard pair.unfinishedMigration(found) != nil else { return true }
        let before = pair.withoutMigrations(found, limitSeconds: stepLimitSeconds)
        guard let here = before.status(here.engine), let there = before.status(there.engine),
            there.token >= here.token
        else { return false }
        return try step(here.engine) { [pair] in
            try pair.store(here.engine).replicaRead { a in
                try pair.store(there.engine).replicaRead { try Replication.agree(a, $0, at: here.token) }
            }
        }
    }

    /// Whether a store claims to have everything, and nothing contradicts it: a store restored from a copy claims it too.
    private func holdsAllAcknowledged(_ status: ReplicaStatus) -> Bool {
        status.hasAllAcknowledged && status.epoch >= control.confirmed && status.token >= control.mark
    }

    /// Whether the history can bring a store to the other one's token.
    private func canFollow(_ status: ReplicaStatus, _ other: EngineName) -> Bool {
        // An unreadable store cannot bring the other up to date.
        guard status.role != .backfilling, let source = try? self.status(other) else { return false }
        guard (try? isContained(source, in: status)) == true else { return false }
        return status.lineage == source.lineage && status.token >= source.information.historyFloor
    }

    private func cannotGoBack(_ actual: ActualStage, _ failure: HabitStoreError) -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the user cannot be taken back to \(actual.state.engines.old.rawValue) now, which is not current: \(failure)",
            at: .init(path: pair.directory.path),
            underlying: failure
        )
    }

    /// The user is where a kill leads, but the store takes no writes now: records the kill in the control file until the store can.
    private func remember(_ actual: ActualStage, _ failure: HabitStoreError) throws -> ActualStage {
        guard control.rememberKill(actual.epoch), control.isInPlace else { throw failure }
        var target = actual
        target.state.stage = .off
        target.state.isKilled = true
        target.state.fled = actual.state.engine(.new)
        target.notes += ["the kill is written into the \(actual.engine.rawValue) store later: \(failure)"]
        return target
    }

    /// Whether a store was given the role after a user's last stage. A new store is also authoritative, but in epoch 0.
    private func hasTakenOver(_ status: ReplicaStatus, from actual: ActualStage) -> Bool {
        status.role == .authoritative && status.epoch > actual.epoch
    }
}
