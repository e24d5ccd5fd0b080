import FeatureFlags
@_spi(Engines) import HabitStore

extension OpenUser {
    /// Takes the user back now, if the kill switch is pulled for the user and that was not done yet.
    ///
    /// - Returns: whether the user is killed.
    /// - Throws: why the user could not be taken back.
    func land() throws -> Bool {
        var route = try currentRoute()
        // What was found while the files were opened need not be found again.
        if route.refusal == nil, route.actual.state.isKilled, route.actual.stage == .off { return true }
        route = try recheck()
        if route.refusal != nil {
            // At `complete` the old store has not followed, and its history may not reach back to where it was left.
            route = try withOldUp { try recheck() }
        }
        if let refusal = route.refusal { throw refusal }
        return route.actual.state.isKilled
    }

    /// What keeps, or is to bring, the user back; nil when nothing does, or when that is done already.
    ///
    /// - Parameter pulled: what pulls the kill switch; it is asked once for a kill: a flag may be gone when it is looked at again.
    func killTrigger(_ actual: ActualStage, _ control: ControlFile, _ pulled: PulledKill?) -> PulledKill? {
        guard actual.stage != .off || !actual.state.isKilled else { return nil }
        if let pulled { return pulled }
        return actual.state.isKilled || isKilled(control, actual)
            ? PulledKill(text: "the user was killed and not re-armed") : nil
    }

    /// Whether the control file remembers a kill that the stores were not told of. A user who belongs to no machine may have been
    /// re-armed on another one since, in a later epoch.
    private func isKilled(_ control: ControlFile, _ actual: ActualStage) -> Bool {
        control.isKilled && (!pair.isWithoutMachine(actual.state) || control.killedEpoch >= actual.epoch)
    }

    /// The new store turned out to be damaged while it served: the old one, which holds everything, takes its place.
    func leave(_ route: Route, _ damage: HabitStoreError) {
        options.logger.error("a user's store is damaged: \(damage)", metadata: ["folder": "\(directory.path)"])
        let difference = EvidenceEvent.difference(
            stage: route.actual.stage,
            token: route.actual.token,
            message: damage.message,
            epoch: route.actual.epoch
        )
        var isPulled = false
        do {
            try move(.differenceFound, from: { _, _ in route.condition.holds ? route.actual : nil }) {
                look,
                actual,
                _ in
                let left = try look.change.kill(actual, isKilled: false)
                context.metrics.differed(.open)
                recordDifference(difference)
                isPulled = look.pulled != nil
                return left
            }
            // The next operation finds the kill, which this is not.
            if isPulled { leases.store(nil) }
        } catch {
            options.logger.error("a user could not be taken to the store that is sound: \(error)")
        }
    }

    /// Records a kill before a store is opened for it: whatever becomes of the attempt, the next opening by any program tries again.
    ///
    /// The root's latch is set only while the sentinel file is there: the process may have slept since it looked, and everybody have been
    /// re-armed. For the same reason a kill that passes by the lock is looked for once more.
    func recordKill(_ pulled: PulledKill, _ control: ControlFile) {
        let isLatchDue = pulled.latch?.isSet == false
        guard isLatchDue || !control.isKilled, let now = context.lookForKill() else { return }
        if isLatchDue, let latch = pulled.latch, now.latch?.path == latch.path {
            do {
                try latch.set(by: pulled.text)
                context.metrics.killIsEngaged(true)
            } catch {
                options.logger.error("the kill is not remembered for everybody: \(error)")
            }
        }
        guard !control.isKilled else { return }
        if !control.rememberKill(max(StageSwitch.firstEpoch, control.floor)) {
            options.logger.error(
                "a kill is recorded, and the disk may not have it",
                metadata: ["folder": "\(directory.path)"]
            )
        }
    }

    /// Whether a kill of the user was recorded that may not have landed. A user who has a store on a server may have been re-armed on
    /// another machine since: there only what pulls the kill now counts until the stores have answered.
    func isKillRecorded(_ control: ControlFile) -> Bool {
        control.isKilled && !context.engines.names.contains(where: context.engines.isShared)
    }

    /// Takes the user back, and remembers it. Nothing of the evidence is read for it.
    ///
    /// - Throws: why the user's old store cannot be made current; the user is served for reading only then.
    func kill(_ actual: ActualStage, by trigger: PulledKill, _ change: StageSwitch) throws -> ActualStage {
        CrashPoint.reach("kill.latched")
        // On another machine the user may be in a later epoch than the one that it was recorded with.
        change.control.noteKilled(actual.epoch)
        var notes: [String] = []
        var killed = try change.kill(actual)
        context.metrics.killed()
        let event = EvidenceEvent.killed(trigger: trigger.text)
        let isWritten =
            killed.epoch == actual.epoch
            ? record([event], isUrgent: true) : note(actual, killed, .killed, after: [event], isUrgent: true)
        if !isWritten {
            notes.append("the evidence could not be written: its lines of the kill are owed, and added later")
        }
        killed.notes += notes
        return killed
    }
}
