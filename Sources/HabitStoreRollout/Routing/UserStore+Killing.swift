import HabitStore

extension UserStore {
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

    /// What keeps, or is to bring, the user back; nil when nothing does, or when that is done already.
    func killTrigger(_ actual: Actual) -> String? {
        guard actual.stage != .off || !actual.state.isKilled else { return nil }
        if let signal = flags.provider.killSignal(context: context) { return signal.description }
        if flags.latch.isSet {
            return "the kill switch was pulled for everybody and not re-armed (\(flags.latch.path))"
        }
        return actual.state.isKilled ? "the user was killed and not re-armed" : nil
    }

    /// The new store turned out to be damaged while it served: the old one, which holds everything, takes its place.
    func leave(_ route: Route, _ damage: HabitStoreError) {
        options.logger.error("a user's store is damaged: \(damage)", metadata: ["folder": "\(directory.path)"])
        do {
            try routing.withLock { routing in
                try withSwitch(&routing) { routing, change in
                    let revision = flags.revision
                    guard route.condition.holds else { return }
                    let left = try change.kill(route.actual, isKilled: false, evidence: anchor(route.actual))
                    record([.difference(stage: route.actual.stage, token: route.actual.token, message: damage.message)])
                    note(route.actual, left, .differenceFound, &routing)
                    _ = try install(left, change, nil, revision, &routing)
                }
            }
        } catch {
            options.logger.error("a user could not be taken to the store that is sound: \(error)")
        }
    }

    /// Takes the user back, and remembers it.
    ///
    /// - Throws: why the user's old store cannot be made current; the user is served for reading only then.
    func kill(_ actual: Actual, by trigger: String, _ change: StageSwitch, _ routing: inout Routing) throws -> Actual {
        if case .sentinel = flags.provider.killSignal(context: context) {
            do { try flags.latch.set(by: trigger) } catch { options.logger.error("\(error)") }
        }
        CrashPoint.reach("kill.latched")
        let killed = try change.kill(actual, evidence: anchor(actual))
        metrics.killed()
        record([.killed(trigger: trigger)])
        note(actual, killed, .killed, &routing)
        return killed
    }
}
