import FeatureFlags
@_spi(Engines) import HabitStore

extension OpenUser {
    /// Takes the user back now, if the kill switch is pulled for the user and that was not done yet.
    ///
    /// - Returns: whether the user is killed.
    /// - Throws: why the user could not be taken back.
    func land() throws -> Bool {
        var route = try currentRoute()
        // Saves another check if opening the files has just done it.
        if route.refusal == nil, route.actual.state.isKilled, route.actual.stage == .off { return true }
        route = try recheck()
        if route.refusal != nil {
            // At `complete` the old store has not followed, and the history may not reach back to its last token.
            route = try withOldUp { try recheck() }
        }
        if let refusal = route.refusal { throw refusal }
        return route.actual.state.isKilled
    }

    /// The kill that keeps the user back, or has yet to take the user back; nil if there is none, or it is already carried out.
    ///
    /// - Parameter pulled: the pulled kill switch, read once per kill, since a flag may have changed by a second reading.
    func killTrigger(_ actual: ActualStage, _ control: ControlFile, _ pulled: PulledKill?) -> PulledKill? {
        guard actual.stage != .off || !actual.state.isKilled else { return nil }
        if let pulled { return pulled }
        return actual.state.isKilled || isKilled(control, actual)
            ? PulledKill(text: "the user was killed and not re-armed") : nil
    }

    /// Whether the control file records a kill that the stores do not know of. A user who belongs to no machine may have been re-armed on another one
    /// since, in a later epoch.
    private func isKilled(_ control: ControlFile, _ actual: ActualStage) -> Bool {
        control.isKilled && (!pair.isWithoutMachine(actual.state) || control.killedEpoch >= actual.epoch)
    }

    /// Takes the user to the old store, which has everything, after the new one turned out to be damaged while it served.
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
            // The next operation carries out the pulled kill, which this move was not.
            if isPulled { leases.store(nil) }
        } catch {
            options.logger.error("a user could not be taken to the store that is sound: \(error)")
        }
    }

    /// Records a kill before opening a store for it: if the attempt fails, the next opening by any program tries again.
    ///
    /// The root's latch is set only while the sentinel file exists: this process may have been suspended since it checked, and all users re-armed
    /// meanwhile. For the same reason, a kill that passes by the lock is checked once more.
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

    /// Whether a kill of the user was recorded and may not have been carried out. A user with a store on a server may have been re-armed on another
    /// machine since: until the stores have answered, only a kill switch that is pulled now counts there.
    func isKillRecorded(_ control: ControlFile) -> Bool {
        control.isKilled && !context.engines.names.contains(where: context.engines.isShared)
    }

    /// Takes the user back, and records it. Reads no evidence for it.
    ///
    /// - Throws: why the old store cannot be made current; the user is then served read-only.
    func kill(_ actual: ActualStage, by trigger: PulledKill, _ change: StageSwitch) throws -> ActualStage {
        CrashPoint.reach("kill.latched")
        // On another machine, the user may be in a later epoch than the recorded one.
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
