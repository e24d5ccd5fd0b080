import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging

extension OpenUser {
    /// The state under the lock of the user's switches, read once. The files of the flags and the kill switch were checked there.
    struct Observation {
        var change: StageSwitch
        let pulled: KillSwitch.Pull?
        /// The flags' revision from before they were read.
        let revision: Int
        /// The revision of the app's attributes of the user from before the flags were read.
        let said: Int
    }

    /// Finds out where the user is and what the flags want, carries out a kill or a way back, and makes the route.
    @discardableResult
    func refreshRoute() throws -> Route {
        try state.withLock { state in
            try requireOpen()
            let (revision, said) = (flags.revision, context.subject.revision)
            if let route = leases.load(), route.condition.holds, route.control.isInPlace,
                pair.holds(route.actual.engine)
            {
                if revision == checkedRevision.load(ordering: .acquiring) { return route }
                if isUnmoved(route, &state) {
                    check(revision, said: said)
                    return route
                }
            }
            return try withSwitch { try self.refreshRoute(&state, $0) }
        }
    }

    /// Finds out for the first time where the user is, in a folder that is the user's.
    func firstRoute() throws -> Route {
        try state.withLock { state in
            try withSwitch { look in
                try directory.claim()
                return try self.refreshRoute(&state, look)
            }
        }
    }

    /// Marks the route as checked for these revisions, unless the app has changed the user's attributes meanwhile.
    private func check(_ revision: Int, said: Int) {
        checkedRevision.store(revision, ordering: .sequentiallyConsistent)
        if context.subject.revision != said { forgetFlags() }
    }

    /// Makes the next operation evaluate the flags again.
    func forgetFlags() { checkedRevision.store(Self.unchecked, ordering: .sequentiallyConsistent) }

    /// Checks again where the user is, although this process knows of no change: an obstacle to a write may be gone.
    func recheck() throws -> Route {
        try state.withLock { state in try withSwitch { try self.refreshRoute(&state, $0) } }
    }

    /// Whether the flags now want nothing that has to be done immediately.
    private func isUnmoved(_ route: Route, _ state: inout State) -> Bool {
        let wanted = context.wanted
        let wayBack = WayBack(route.actual, wanted)
        guard killTrigger(route.actual, route.control, context.pulledKill) == nil, !wayBack.isFollowed,
            wayBack.placement == nil, !isDue(EngineSwap(route.actual, wanted)),
            !route.actual.state.engines.isOther(than: wanted.engines)
        else { return false }
        // Another process may have recorded since how the flags placed the user.
        guard wayBack.stays == nil || wanted == state.wanted else { return false }
        state.wanted = wanted
        state.notes = flags.notes + wanted.notes + route.actual.notes
        return true
    }

    /// Runs `body` under the lock of the user's switches.
    ///
    /// While a kill is pulled, a process that holds the lock but does not release it, frozen in the middle of a move, is passed by: when it wakes,
    /// its epoch is outdated. So is a lock file that cannot be opened.
    func withSwitch<R>(_ body: (Observation) throws -> R) throws -> R {
        try requireOpen()
        let lock = try SwitchLock(directory, options, refreshKill: context.refreshKill)
        defer { withExtendedLifetime(lock) {} }
        CrashPoint.reach("switch.locked")
        try ErasureTombstone(directory).requireNone()
        let control: ControlFile
        do {
            control = try ownControl()
        } catch {
            recordKill(without: error)
            throw error
        }
        takeMarkedKill(control)
        try finishRestoration(control)
        var change = StageSwitch(pair: pair, control: control, stepLimitSeconds: options.stepLimitSeconds)
        change.isPassing = lock.passedFor != nil
        flags.refresh(for: context.subject)
        let (revision, said) = (flags.revision, context.subject.revision)
        let pulled = lock.passedFor ?? context.pulledKill
        if let pulled { recordKill(pulled, control) }
        return try body(Observation(change: change, pulled: pulled, revision: revision, said: said))
    }

    /// The control file. On the first call, before a store is opened, files that have other names elsewhere are replaced by copies. While another
    /// process has the user open they stay shared, and SQLite stores refuse new writers.
    private func ownControl() throws -> ControlFile {
        let isFirst = control == nil
        let control = try openControl()
        let linked = LinkedFiles(directory, context.engines)
        guard isFirst, !linked.names.isEmpty else { return control }
        do {
            let isKnown = !control.isCopy
            forgetControl()
            guard let alone = try UserPresence(aloneAt: directory.path + "/control") else {
                options.logger.warning(
                    "a user's files have other names elsewhere, and are in use",
                    metadata: linkedFolder
                )
                return try openControl()
            }
            try linked.separate(isKnown: isKnown)
            withExtendedLifetime(alone) {}
            options.logger.notice(
                "a user's files had other names elsewhere, and were replaced by copies",
                metadata: linkedFolder
            )
        } catch let error as HabitStoreError {
            options.logger.warning("a user's files have other names elsewhere: \(error)", metadata: linkedFolder)
        }
        return try openControl()
    }

    private var linkedFolder: Logger.Metadata { ["folder": "\(directory.path)"] }

    /// Finishes a restore whose process died, like an interrupted move.
    private func finishRestoration(_ control: ControlFile) throws {
        Restoration.removeEmpty(directory)
        guard Restoration.isBegun(directory) else { return }
        // The open stores are the ones being set aside.
        pair.release()
        try Restoration(directory, context.engines, options, schema: context.schema).finish(control)
    }

    func refreshRoute(_ state: inout State, _ look: Observation) throws -> Route {
        let (wanted, change) = (context.wanted, look.change)
        state.wanted = wanted
        var actual = try recover(look, wanted.engines) ?? begin(wanted, change)
        let trigger = killTrigger(actual, change.control, look.pulled)
        notePutBack(&actual, change.control, isUrgent: trigger != nil)
        if trigger == nil {
            swapEngines(&actual, wanted, change)
            // A stage wanted of another pair of engines is not wanted of this one.
            if actual.state.engines.isOther(than: wanted.engines) { state.wanted?.stage = nil }
            context.evidence.makeUp(for: actual, in: scene)
            notePlacement(&actual, wanted, change)
        }
        var refusal: HabitStoreError?
        if let trigger {
            // Does not check what an earlier move owes the evidence: the line of the kill begins a new stay in any case.
            do {
                actual = try kill(actual, by: trigger, change)
            } catch let error as HabitStoreError {
                // The attempt may have raised the epoch, or another process may have taken the user back meanwhile.
                actual = try recover(look, wanted.engines) ?? actual
                refusal = killTrigger(actual, change.control, look.pulled) == nil ? nil : error
                actual.notes.append(error.description)
                options.logger.error("the kill switch could not take a user back: \(error)")
            }
        } else if WayBack(actual, wanted).isFollowed, let stage = wanted.stage {
            do {
                let before = actual
                actual = try change.move(
                    actual,
                    to: stage,
                    evidence: context.evidence.remembered(actual, pair),
                    placedBy: wanted.placement
                )
                note(before, actual, .followedFlags)
            } catch let error as HabitStoreError {
                actual.notes.append("stays at \(actual.stage.rawValue): \(error.description)")
            }
        }
        state.notes = flags.notes + wanted.notes + actual.notes
        return try install(actual, look, &state, refusal: refusal)
    }

    /// Records in the store how the flags placed the user, so that after a change of the flags an edited list can be distinguished from a changed
    /// percentage.
    private func notePlacement(_ actual: inout ActualStage, _ wanted: WantedStage, _ change: StageSwitch) {
        guard let placement = WayBack(actual, wanted).placement else { return }
        do {
            actual = try change.note(placement, of: actual)
        } catch {
            // The next check tries again.
            options.logger.warning(
                "a user's store cannot remember how the flags put the user there: \(error)",
                metadata: ["folder": "\(directory.path)"]
            )
        }
    }

    @discardableResult
    func note(
        _ before: ActualStage,
        _ after: ActualStage,
        _ reason: StageChangeReason,
        because: String? = nil,
        after events: [EvidenceEvent] = [],
        isUrgent: Bool = false
    ) -> Bool {
        context.evidence.note(before, after, reason, because: because, after: events, in: scene, isUrgent: isUrgent)
    }

    /// Swaps the roles of the engines if the flags say so, for a user served by only one engine. At most once per state of the flag files, so that
    /// two that disagree do not move the user back and forth.
    private func swapEngines(_ actual: inout ActualStage, _ wanted: WantedStage, _ change: StageSwitch) {
        let swap = EngineSwap(actual, wanted)
        guard swap.isProposed else { return }
        guard isDue(swap) else {
            actual.notes.append(swap.refusal)
            return
        }
        do {
            actual = try change.swap(
                actual,
                to: wanted.engines,
                by: flags.identity(for: context.subject),
                pairedBy: wanted.pairedBy
            )
        } catch {
            actual.notes.append("\(swap.refusal): \(error)")
        }
    }

    private func isDue(_ swap: EngineSwap) -> Bool {
        swap.isDue(context.engines, identity: flags.identity(for: context.subject), pair.mayExist)
    }

    /// Records in the evidence, once, that a folder was restored from a copy.
    ///
    /// - Parameter isUrgent: whether a kill is waiting: what cannot be written immediately is written later.
    private func notePutBack(_ actual: inout ActualStage, _ control: ControlFile, isUrgent: Bool) {
        guard let what = actual.putBack else { return }
        actual.notes.append("\(what); what was proven before does not count any more")
        options.logger.warning(
            "a user's folder was put back",
            metadata: ["what": "\(what)", "folder": "\(directory.path)"]
        )
        if record([.putBack(what: what)], isUrgent: isUrgent) { control.noteCopy() }
    }

    /// Creates the store of a new user.
    private func begin(_ wanted: WantedStage, _ change: StageSwitch) throws -> ActualStage {
        guard context.mayBegin.load(ordering: .relaxed) else {
            throw NoSuchUser(user: directory.user, root: directory.root).error
        }
        return try change.createFirst(first(wanted))
    }

    /// The initial state of a new user.
    private func first(_ wanted: WantedStage) -> RolloutState {
        var state = RolloutState(stage: wanted.isDirect ? wanted.stage ?? .off : .off, engines: wanted.engines)
        state.pairedBy = wanted.pairedBy
        if state.stage > .off { state.placedBy = wanted.placement }
        state.rememberSwap(by: flags.identity(for: context.subject))
        if wanted.isDirect { state.rememberSwap(by: flags.directSwap(for: context.subject)) }
        return state
    }

    /// Makes the route, and notifies all processes.
    func install(
        _ actual: ActualStage,
        _ look: Observation,
        _ state: inout State,
        refusal: HabitStoreError? = nil
    ) throws -> Route {
        let control = look.change.control
        guard control.confirmed <= actual.epoch else { throw StageSwitch.overtaken(directory) }
        let previous = leases.load()
        let made = try makeRoute(actual, control, refusal, &state)
        // The user's former store may hang, so it must not be read now.
        previous?.shadow?.flush(isUrgent: true)
        let confirms = made.actual.obstacle == nil || !actual.stage.awaitsMirror
        control.publish(actual.stage, epoch: actual.epoch, confirms: confirms)
        leases.store(made)
        check(look.revision, said: look.said)
        return made
    }

    private func makeRoute(
        _ actual: ActualStage,
        _ control: ControlFile,
        _ refusal: HabitStoreError?,
        _ state: inout State
    ) throws -> Route {
        var actual = actual
        let authority = try pair.store(actual.engine)
        var first: (any UserStoreBackend)?
        if actual.stage.awaitsMirror {
            // Without it, reads still work, and the obstacle refuses writes.
            if actual.obstacle == nil {
                do {
                    first = try pair.store(actual.other)
                } catch let error as HabitStoreError {
                    actual.obstacle = error
                }
            }
            first = first ?? authority
        }
        if actual.stage.awaitsMirror || actual.stage.mirror == nil {
            state.mirror?.stop()
            state.mirror = nil
        } else {
            if state.mirror?.epoch != actual.epoch {
                state.mirror?.stop()
                state.mirror = nil
            }
            let mirror = state.mirror ?? makeMirror(actual)
            state.mirror = mirror
            mirror.follow(to: actual.token, waitSeconds: 0)
        }
        return Route(
            actual,
            control,
            isShared: pair.known.isShared(actual.engine),
            authority: authority,
            writtenFirst: first,
            mirror: state.mirror,
            shadow: makeShadow(actual),
            refusal: refusal,
            stopwatch: context.metrics.stopwatch(actual.engine, .write)
        )
    }

    private func makeMirror(_ actual: ActualStage) -> Mirror {
        Mirror(
            pair,
            actual,
            options: options.mirror,
            copyLockWaitSeconds: options.stepLimitSeconds,
            metrics: context.metrics,
            onCopied: { [weak self] outcome in
                self?.record([.backfilled(token: outcome.token, records: outcome.records)])
                self?.context.metrics.backfilled(outcome.records)
            },
            onRefused: { [weak self] in self?.stepDown(actual) },
            onOutdated: { [weak self] in try self?.migrateFollower(actual.other, beside: actual) }
        )
    }

    private func makeShadow(_ actual: ActualStage) -> ShadowReader? {
        guard let side = actual.stage.shadow, options.shadowReads.oneIn > 0 else { return nil }
        let (stage, engine, epoch) = (actual.stage, actual.state.engine(side), actual.epoch)
        return ShadowReader(
            mine: { [pair] in try pair.store(actual.engine) },
            theirs: { [pair] in try pair.store(engine) },
            engine: engine,
            user: directory,
            schema: context.schema,
            options: options,
            metrics: context.metrics,
            totals: context.shadowTotals,
            // `self` is strong, so that comparisons still report when the files are being closed for another user.
            onDifference: { [self] difference in found(difference, at: stage, epoch: epoch) },
            onCounts: { [self] counts, isUrgent in
                let event = EvidenceEvent.shadowReads(
                    stage: stage,
                    clean: counts[.match],
                    different: counts[.mismatch],
                    skewed: counts[.skewed],
                    failed: counts[.error],
                    shed: counts[.shed],
                    rerun: counts[.rerun],
                    timedOut: counts[.timedOut],
                    epoch: epoch
                )
                record([event], isUrgent: isUrgent)
                guard !isUrgent else { return }
                context.evidence.anchor(in: scene, everySeconds: EvidenceRecorder.anchorEverySeconds)
            }
        )
    }
}
