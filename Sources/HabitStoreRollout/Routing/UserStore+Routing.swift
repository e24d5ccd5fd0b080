import FeatureFlags
import Foundation
import HabitStore

extension UserStore {
    /// Finds out where the user is and what the flags want, acts on the kill switch and on a way back, and makes the route.
    @discardableResult
    func reroute() throws -> Route {
        try routing.withLock { routing in
            try requireOpen()
            let revision = flags.revision
            if let route = route.load(), route.condition.holds, route.control.isInPlace,
                pair.holds(route.actual.engine)
            {
                if revision == checkedRevision.load(ordering: .acquiring) { return route }
                if isUnmoved(route, &routing) {
                    checkedRevision.store(revision, ordering: .releasing)
                    return route
                }
            }
            return try withSwitch(&routing) { routing, change in
                try self.reroute(&routing, change, revision)
            }
        }
    }

    /// Finds out anew where the user is, though nothing has changed that this process could know of: something stood in the
    /// way of a write, and may not any more.
    func recheck() throws -> Route {
        try routing.withLock { routing in
            try withSwitch(&routing) { routing, change in try self.reroute(&routing, change, flags.revision) }
        }
    }

    /// Whether what the flags want now asks for nothing to be done at once.
    private func isUnmoved(_ route: Route, _ routing: inout Routing) -> Bool {
        let wanted = flags.wanted(for: context, engines)
        guard killTrigger(route.actual, route.control) == nil, !goesBack(wanted, route.actual),
            !isToTurn(route.actual, wanted), !route.actual.state.engines.isOther(than: wanted.engines)
        else { return false }
        routing.wanted = wanted
        routing.notes = flags.notes + wanted.notes + route.actual.notes
        return true
    }

    /// Runs `body` under the lock of the user's switches.
    ///
    /// While a kill is pulled, a process that has the lock and does not let go of it, frozen in the middle of a move, is passed
    /// by: it finds its epoch gone when it wakes.
    func withSwitch<R>(_ routing: inout Routing, _ body: (inout Routing, StageSwitch) throws -> R) throws -> R {
        let lock = try SwitchLock(directory, options, isPassedBy: isKillPulled)
        defer { withExtendedLifetime(lock) {} }
        CrashPoint.reach("switch.locked")
        let control = try control(&routing)
        var change = StageSwitch(pair: pair, control: control, stepLimitSeconds: options.stepLimitSeconds)
        change.isPassing = lock.isPassed
        return try body(&routing, change)
    }

    /// Whether something pulls the kill switch for the user now.
    var isKillPulled: Bool { flags.isKillPulled(for: context) }

    /// The control file that stands in the user's folder now.
    private func control(_ routing: inout Routing) throws -> ControlFile {
        if let control = routing.control {
            if control.isInPlace { return control }
            // The folder was moved away, or another one was put in its place: so were the stores.
            pair.release()
        }
        let control = try ControlFile(path: directory.path + "/control")
        routing.control = control
        publish(control)
        return control
    }

    func reroute(_ routing: inout Routing, _ change: StageSwitch, _ revision: Int) throws -> Route {
        let wanted = flags.wanted(for: context, engines)
        routing.wanted = wanted
        var actual =
            try settle(change, wanted.engines)
            ?? change.createFirst(first(wanted))
        let trigger = killTrigger(actual, change.control)
        notePutBack(&actual, change.control, isUrgent: trigger != nil)
        if trigger == nil {
            turn(&actual, wanted, change)
            // What is wanted of another rollout is not wanted of this one.
            if actual.state.engines.isOther(than: wanted.engines) { routing.wanted?.stage = nil }
            record(actual, &routing)
        }
        var refusal: HabitStoreError?
        if let trigger {
            // What an earlier move owes the evidence is not looked for: the line of the kill begins another stay in any case.
            do {
                actual = try kill(actual, by: trigger, change, &routing)
            } catch let error as HabitStoreError {
                // The attempt may have raised the epoch, or another process have taken the user back meanwhile.
                actual = try settle(change, wanted.engines) ?? actual
                refusal = killTrigger(actual, change.control) == nil ? nil : error
                actual.notes.append(error.description)
                options.logger.error("the kill switch could not take a user back: \(error)")
            }
        } else if goesBack(wanted, actual), let stage = wanted.stage {
            do {
                let before = actual
                actual = try change.move(actual, to: stage, evidence: remembered(actual))
                note(before, actual, .followedFlags, &routing)
            } catch let error as HabitStoreError {
                actual.notes.append("stays at \(actual.stage.rawValue): \(error.description)")
            }
        }
        routing.notes = flags.notes + wanted.notes + actual.notes
        return try install(actual, change, refusal, revision, &routing)
    }

    /// Has the engines change their parts where the flags say so, for a user whom only one engine serves; once for each state
    /// of the flag files, so that two that disagree do not send the user to and fro.
    private func turn(_ actual: inout Actual, _ wanted: WantedStage, _ change: StageSwitch) {
        guard actual.state.engines != wanted.engines,
            actual.stage == .off || actual.stage == .complete || actual.state.engines.isOther(than: wanted.engines)
        else { return }
        guard isToTurn(actual, wanted) else {
            actual.notes.append(Self.disagreement(actual, wanted))
            return
        }
        do {
            actual = try change.turn(actual, to: wanted.engines, by: flags.identity)
        } catch {
            actual.notes.append("\(Self.disagreement(actual, wanted)): \(error)")
        }
    }

    private func isToTurn(_ actual: Actual, _ wanted: WantedStage) -> Bool {
        actual.state.engines != wanted.engines && (actual.stage == .off || actual.stage == .complete)
            && !actual.state.isKilled && !actual.state.hasTurned(by: flags.identity)
            && mayTurn(actual, to: wanted.engines)
    }

    /// Whether the engines that are wanted are those of the rollout, or lead on from where the user is, whose other store is
    /// gone. That of an engine which this program has not got may be there.
    private func mayTurn(_ actual: Actual, to wanted: EnginePair) -> Bool {
        !actual.state.engines.isOther(than: wanted)
            || wanted.contains(actual.engine) && engines.contains(actual.other) && !pair.exists(actual.other)
    }

    static func disagreement(_ actual: Actual, _ wanted: WantedStage) -> String {
        let engines = actual.state.engines
        let reason =
            engines.isOther(than: wanted.engines)
            ? "the user's rollout is between \(engines.old.rawValue) and \(engines.new.rawValue); another one begins when it is "
                + "over and the store that was left is gone"
            : actual.state.isKilled
                ? "the user was killed and is not taken to \(actual.state.fled?.rawValue ?? "the other engine") before a re-arm"
                : "flag files disagree: others have put the user here since these did"
        return
            "stays on \(actual.engine.rawValue), though \(RolloutFlags.old) is \(wanted.engines.old.rawValue): \(reason)"
    }

    /// A folder that was put back says so in the evidence, once.
    ///
    /// - Parameter isUrgent: whether a kill waits for it: what cannot be written at once is written later.
    private func notePutBack(_ actual: inout Actual, _ control: ControlFile, isUrgent: Bool) {
        guard let what = actual.putBack else { return }
        actual.notes.append("\(what); what was proven before does not count any more")
        options.logger.warning(
            "a user's folder was put back",
            metadata: ["what": "\(what)", "folder": "\(directory.path)"]
        )
        if record([.putBack(what: what)], isUrgent: isUrgent) { control.noteCopy() }
    }

    /// The state that a new user begins with.
    private func first(_ wanted: WantedStage) -> RolloutState {
        var state = RolloutState(stage: wanted.isDirect ? wanted.stage ?? .off : .off, engines: wanted.engines)
        state.noteTurn(by: flags.identity)
        if wanted.isDirect { state.noteTurn(by: directTurn) }
        return state
    }

    /// Whether the user is to be taken to an earlier stage by the flags alone.
    private func goesBack(_ wanted: WantedStage, _ actual: Actual) -> Bool {
        guard let stage = wanted.stage, !wanted.isDirect || stage == .off, !wanted.isBucketed,
            wanted.engines == actual.state.engines
        else { return false }
        return stage < actual.stage && actual.stage != .complete
    }

    /// Makes the route, and tells all processes.
    func install(
        _ actual: Actual,
        _ change: StageSwitch,
        _ refusal: HabitStoreError?,
        _ revision: Int,
        _ routing: inout Routing
    ) throws -> Route {
        guard change.control.confirmed <= actual.epoch else { throw StageSwitch.overtaken(directory) }
        let previous = route.load()
        let made = try makeRoute(actual, change.control, refusal, &routing)
        previous?.shadow?.flush()
        change.control.publish(actual.stage, epoch: actual.epoch)
        route.store(made)
        checkedRevision.store(revision, ordering: .releasing)
        return made
    }

    private func makeRoute(
        _ actual: Actual,
        _ control: ControlFile,
        _ refusal: HabitStoreError?,
        _ routing: inout Routing
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
            routing.mirror?.stop()
            routing.mirror = nil
        } else {
            if routing.mirror?.epoch != actual.epoch {
                routing.mirror?.stop()
                routing.mirror = nil
            }
            let mirror = routing.mirror ?? makeMirror(actual)
            routing.mirror = mirror
            mirror.follow(to: actual.token, waitSeconds: 0)
        }
        return Route(
            actual,
            control,
            authority: authority,
            first: first,
            mirror: routing.mirror,
            shadow: makeShadow(actual),
            refusal: refusal
        )
    }

    private func makeMirror(_ actual: Actual) -> Mirror {
        Mirror(
            pair,
            source: actual.engine,
            other: actual.other,
            epoch: actual.epoch,
            options: options.mirror,
            metrics: metrics
        ) { [weak self] outcome in
            self?.record([.backfilled(token: outcome.token, records: outcome.records)])
        }
    }

    private func makeShadow(_ actual: Actual) -> ShadowReader? {
        guard let side = actual.stage.shadow, options.shadowReads.oneIn > 0 else { return nil }
        let (stage, engine, epoch) = (actual.stage, actual.state.engine(side), actual.epoch)
        return ShadowReader(
            mine: { [pair] in try pair.store(actual.engine) },
            theirs: { [pair] in try pair.store(engine) },
            engine: engine,
            user: directory,
            schema: schema,
            options: options,
            metrics: metrics,
            totals: shadowTotals,
            onDifference: { [weak self] difference in self?.found(difference, at: stage, epoch: epoch) },
            onCounts: { [weak self] counts in
                self?.record([
                    .shadowReads(
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
                ])
                self?.anchorEvidence(everySeconds: Self.anchorEverySeconds)
            }
        )
    }
}
