import FeatureFlags
import HabitStore

extension UserStore {
    /// What keeps, or is to bring, a user back.
    struct KillTrigger {
        let text: String
        /// Whether it is for everybody, and is remembered for everybody until somebody re-arms.
        let isForAll: Bool
    }

    /// Takes the user back now, if the kill switch is pulled for the user and that was not done yet.
    ///
    /// - Returns: whether the user is killed.
    /// - Throws: why the user could not be taken back; reads are served all the same, and writes refused with this error.
    public func land() throws -> Bool {
        try begin()
        defer { route.end() }
        var route = try recheck()
        if route.refusal != nil {
            // At `complete` the old store has not followed, and its history may not reach back to where it was left.
            route = try withOldUp { try recheck() }
        }
        if let refusal = route.refusal { throw refusal }
        return route.actual.state.isKilled
    }

    /// What keeps, or is to bring, the user back; nil when nothing does, or when that is done already. It is asked once for a
    /// kill: a flag may be gone when it is looked at again.
    func killTrigger(_ actual: Actual, _ control: ControlFile) -> KillTrigger? {
        guard actual.stage != .off || !actual.state.isKilled else { return nil }
        switch flags.provider.killSignal(context: context) {
        case .sentinel(let path): return KillTrigger(text: KillSignal.sentinel(path: path).description, isForAll: true)
        case let signal?: return KillTrigger(text: signal.description, isForAll: false)
        case nil: break
        }
        if flags.latch.isSet {
            let text = "the kill switch was pulled for everybody and not re-armed (\(flags.latch.path))"
            return KillTrigger(text: text, isForAll: false)
        }
        return actual.state.isKilled || control.isKilled
            ? KillTrigger(text: "the user was killed and not re-armed", isForAll: false) : nil
    }

    /// The new store turned out to be damaged while it served: the old one, which holds everything, takes its place.
    func leave(_ route: Route, _ damage: HabitStoreError) {
        options.logger.error("a user's store is damaged: \(damage)", metadata: ["folder": "\(directory.path)"])
        do {
            try routing.withLock { routing in
                try withSwitch(&routing) { routing, change in
                    let revision = flags.revision
                    guard route.condition.holds else { return }
                    let left = try change.kill(route.actual, isKilled: false)
                    recordDifference(
                        .difference(
                            stage: route.actual.stage,
                            token: route.actual.token,
                            message: damage.message,
                            epoch: route.actual.epoch
                        )
                    )
                    note(route.actual, left, .differenceFound, &routing)
                    _ = try install(left, change, nil, revision, &routing)
                }
            }
        } catch {
            options.logger.error("a user could not be taken to the store that is sound: \(error)")
        }
    }

    /// Takes the user back, and remembers it. Nothing of the evidence is read for it.
    ///
    /// - Throws: why the user's old store cannot be made current; the user is served for reading only then.
    func kill(
        _ actual: Actual,
        by trigger: KillTrigger,
        _ change: StageSwitch,
        _ routing: inout Routing
    ) throws -> Actual {
        var notes: [String] = []
        if trigger.isForAll {
            do {
                try flags.latch.set(by: trigger.text)
            } catch {
                options.logger.error("\(error)")
                notes.append("the kill is not remembered for everybody: \(error)")
            }
        }
        CrashPoint.reach("kill.latched")
        var killed = try change.kill(actual)
        metrics.killed()
        let isWritten = record([.killed(trigger: trigger.text)], isUrgent: true)
        if killed.epoch != actual.epoch { note(actual, killed, .killed, &routing, isUrgent: true) }
        if !isWritten {
            notes.append("the evidence could not be written: its lines of the kill are owed, and added later")
        }
        killed.notes += notes
        return killed
    }
}
