import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging

extension OpenUser {
    /// What is found, and asked once, under the lock of the user's switches. The files of the flags and of the kill switch have
    /// been looked at there.
    struct Look {
        var change: StageSwitch
        /// What pulls the kill switch.
        let pulled: PulledKill?
        /// The flags' revision before they were asked.
        let revision: Int
        /// The revision of what the app says about the user, before that.
        let said: Int
    }

    /// Finds out where the user is and what the flags want, acts on the kill switch and on a way back, and makes the route.
    @discardableResult
    func reroute() throws -> Route {
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
            return try withSwitch { try self.reroute(&state, $0) }
        }
    }

    /// The route is right as of these revisions, unless the app has said something else about the user meanwhile.
    private func check(_ revision: Int, said: Int) {
        checkedRevision.store(revision, ordering: .sequentiallyConsistent)
        if context.subject.revision != said { forgetFlags() }
    }

    /// Makes the next operation ask the flags anew.
    func forgetFlags() { checkedRevision.store(Self.unchecked, ordering: .sequentiallyConsistent) }

    /// Finds out anew where the user is, though nothing has changed that this process could know of: something stood in the
    /// way of a write, and may not any more.
    func recheck() throws -> Route {
        try state.withLock { state in try withSwitch { try self.reroute(&state, $0) } }
    }

    /// Whether what the flags want now asks for nothing to be done at once.
    private func isUnmoved(_ route: Route, _ state: inout State) -> Bool {
        let wanted = context.wanted
        let wayBack = WayBack(route.actual, wanted)
        guard killTrigger(route.actual, route.control, context.pulledKill) == nil, !wayBack.isFollowed,
            wayBack.placement == nil, !isDue(EngineTurn(route.actual, wanted)),
            !route.actual.state.engines.isOther(than: wanted.engines)
        else { return false }
        // Another process may have written down since how the flags put the user there.
        guard wayBack.stays == nil || wanted == state.wanted else { return false }
        state.wanted = wanted
        state.notes = flags.notes + wanted.notes + route.actual.notes
        return true
    }

    /// Runs `body` under the lock of the user's switches.
    ///
    /// While a kill is pulled, a process that has the lock and does not let go of it, frozen in the middle of a move, is passed
    /// by: it finds its epoch gone when it wakes.
    func withSwitch<R>(_ body: (Look) throws -> R) throws -> R {
        try requireOpen()
        let lock = try SwitchLock(directory, options, lookForKill: context.lookForKill)
        defer { withExtendedLifetime(lock) {} }
        CrashPoint.reach("switch.locked")
        try ErasureMark(directory).requireNone()
        let control = try ownControl()
        try finishRestoration(control)
        var change = StageSwitch(pair: pair, control: control, stepLimitSeconds: options.stepLimitSeconds)
        change.isPassing = lock.passedFor != nil
        flags.refresh(for: context.subject)
        let (revision, said) = (flags.revision, context.subject.revision)
        let pulled = lock.passedFor ?? context.pulledKill
        if let pulled { recordKill(pulled, control) }
        return try body(Look(change: change, pulled: pulled, revision: revision, said: said))
    }

    /// The control file. The first time, before a store is opened, files that have other names elsewhere are replaced by copies. While
    /// another process has the user open they stay shared, and SQLite stores refuse new writers.
    private func ownControl() throws -> ControlFile {
        let isFirst = control == nil
        let control = try standingControl()
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
                return try standingControl()
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
        return try standingControl()
    }

    private var linkedFolder: Logger.Metadata { ["folder": "\(directory.path)"] }

    /// Finishes a restore whose process has died, as an interrupted move is finished.
    private func finishRestoration(_ control: ControlFile) throws {
        guard Restoration.isBegun(directory) else { return }
        // What is open are the stores that are set aside.
        pair.release()
        try Restoration(directory, context.engines, options, schema: context.schema).finish(control)
    }

    func reroute(_ state: inout State, _ look: Look) throws -> Route {
        let (wanted, change) = (context.wanted, look.change)
        state.wanted = wanted
        var actual = try settle(look, wanted.engines) ?? begin(wanted, change)
        let trigger = killTrigger(actual, change.control, look.pulled)
        notePutBack(&actual, change.control, isUrgent: trigger != nil)
        if trigger == nil {
            turn(&actual, wanted, change)
            // What is wanted of another rollout is not wanted of this one.
            if actual.state.engines.isOther(than: wanted.engines) { state.wanted?.stage = nil }
            context.evidence.makeUp(for: actual, in: scene)
            notePlacement(&actual, wanted, change)
        }
        var refusal: HabitStoreError?
        if let trigger {
            // What an earlier move owes the evidence is not looked for: the line of the kill begins another stay in any case.
            do {
                actual = try kill(actual, by: trigger, change)
            } catch let error as HabitStoreError {
                // The attempt may have raised the epoch, or another process have taken the user back meanwhile.
                actual = try settle(look, wanted.engines) ?? actual
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

    /// Has the store remember how the flags put the user there, so that whoever reads them when they have changed can tell a list that
    /// was edited from a percentage that was.
    private func notePlacement(_ actual: inout ActualStage, _ wanted: WantedStage, _ change: StageSwitch) {
        guard let placement = WayBack(actual, wanted).placement else { return }
        do {
            actual = try change.note(placement, of: actual)
        } catch {
            // The next look tries again.
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

    /// Has the engines change their parts where the flags say so, for a user whom only one engine serves; once for each state
    /// of the flag files, so that two that disagree do not send the user to and fro.
    private func turn(_ actual: inout ActualStage, _ wanted: WantedStage, _ change: StageSwitch) {
        let turn = EngineTurn(actual, wanted)
        guard turn.isProposed else { return }
        guard isDue(turn) else {
            actual.notes.append(turn.refusal)
            return
        }
        do {
            actual = try change.turn(
                actual,
                to: wanted.engines,
                by: flags.identity(for: context.subject),
                pairedBy: wanted.pairedBy
            )
        } catch {
            actual.notes.append("\(turn.refusal): \(error)")
        }
    }

    private func isDue(_ turn: EngineTurn) -> Bool {
        turn.isDue(context.engines, identity: flags.identity(for: context.subject), pair.mayExist)
    }

    /// A folder that was put back says so in the evidence, once.
    ///
    /// - Parameter isUrgent: whether a kill waits for it: what cannot be written at once is written later.
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

    /// The state that a new user begins with.
    private func first(_ wanted: WantedStage) -> RolloutState {
        var state = RolloutState(stage: wanted.isDirect ? wanted.stage ?? .off : .off, engines: wanted.engines)
        state.pairedBy = wanted.pairedBy
        if state.stage > .off { state.placedBy = wanted.placement }
        state.noteTurn(by: flags.identity(for: context.subject))
        if wanted.isDirect { state.noteTurn(by: flags.directTurn(for: context.subject)) }
        return state
    }

    /// Makes the route, and tells all processes.
    func install(
        _ actual: ActualStage,
        _ look: Look,
        _ state: inout State,
        refusal: HabitStoreError? = nil
    ) throws -> Route {
        let control = look.change.control
        guard control.confirmed <= actual.epoch else { throw StageSwitch.overtaken(directory) }
        let previous = leases.load()
        let made = try makeRoute(actual, control, refusal, &state)
        // The store that is left may hang, and would be asked.
        previous?.shadow?.flush(isUrgent: true)
        control.publish(actual.stage, epoch: actual.epoch)
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
            // Without it reads are served all the same, and the obstacle refuses writes.
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
            turnWaitSeconds: options.stepLimitSeconds,
            metrics: context.metrics,
            onCopied: { [weak self] outcome in
                self?.record([.backfilled(token: outcome.token, records: outcome.records)])
                self?.context.metrics.backfilled(outcome.records)
            },
            onRefused: { [weak self] in self?.yield(actual) },
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
            // What is compared while the files are being closed for another user is told all the same.
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
