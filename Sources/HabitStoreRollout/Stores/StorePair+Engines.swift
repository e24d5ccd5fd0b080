@_spi(Engines) import HabitStore

extension StorePair {
    /// The two engines that a user's rollout is between.
    ///
    /// What the flags want is right as long as the user has stores of these two only. A user who is elsewhere, in the middle of
    /// another rollout or at its end with both stores still there, stays between the engines that the stores themselves name.
    ///
    /// - Parameter wanted: what the flags want.
    /// - Throws: why a store cannot be read, where no other one says which engines they are.
    func engines(preferring wanted: EnginePair) throws -> EnginePair {
        if known.names.allSatisfy(wanted.contains) { return wanted }
        guard known.names.contains(where: { !wanted.contains($0) && mayExist($0) }) else { return wanted }
        let found = look()
        if let failure = found.failure, found.standings.allSatisfy({ $0.state == nil }) { throw failure }
        return engines(found.standings, preferring: wanted)
    }

    /// The same, of what the stores have said: the word of the one that leads.
    func engines(_ standings: [Standing], preferring wanted: EnginePair) -> EnginePair {
        guard let leading = standings.leading else { return wanted }
        let engines = leading.state?.engines ?? EnginePair(old: leading.engine, new: wanted.other(than: leading.engine))
        let other = engines.other(than: leading.engine)
        // One that cannot be read, or that this program has no engine for, is there all the same.
        let isAlone = known.contains(other) && !mayExist(other)
        return isAlone && wanted.contains(leading.engine) ? wanted : engines
    }

    /// Whether there is a store, or that cannot be told.
    func mayExist(_ engine: EngineName) -> Bool { (try? exists(engine)) ?? true }

    /// What all of the user's stores say, each asked once.
    ///
    /// - Parameter limitSeconds: how long each may take; nil for as long as it does. One that hangs leaves its thread behind.
    func look(limitSeconds: Double? = nil) -> StandingsFound {
        var found = StandingsFound()
        func ask(_ engine: EngineName) {
            let answer = Result {
                guard let limitSeconds else { return try standing(engine) }
                return try Deadline.run(seconds: limitSeconds, path: address(engine).path) { [self] _ in
                    do {
                        return try standing(engine)
                    } catch {
                        close(engine)
                        throw error
                    }
                }
            }
            found.note(engine, answer, self)
        }
        for engine in known.names { ask(engine) }
        // They were not asked at one moment: a write may have come to both in between.
        if let ahead = found.standings.max(by: { $0.token < $1.token }), ahead.role == .standby {
            for engine in found.standings.map(\.engine) where engine != ahead.engine { ask(engine) }
        }
        return withoutMigrations(found, limitSeconds: limitSeconds)
    }

    /// The same, with a store that does not serve and was migrated, which the other one was not yet, as it was before: what the hooks of
    /// its migration have changed has no part in the one history. Taken for writes, it made the store that serves look as if it had been
    /// put back, or the other one as if it held everything.
    func withoutMigrations(_ found: StandingsFound, limitSeconds: Double?) -> StandingsFound {
        guard let versions = unfinishedMigration(found)?.versions,
            let oldest = versions.map(\.version).min()
        else { return found }
        var adjusted = found
        for (engine, version) in versions where version > oldest {
            guard let standing = found.standing(engine), standing.role != .authoritative else { continue }
            let before = Result {
                guard let limitSeconds else { return try tokenBeforeMigration(standing) }
                return try Deadline.run(seconds: limitSeconds, path: standing.path) { [self] _ in
                    try tokenBeforeMigration(standing)
                }
            }
            adjusted.note(engine, before.map { standing.before($0) }, self)
        }
        return adjusted
    }

    /// How many transactions at a history's end may be a migration's: two for each stage of a plan.
    private static let mostMigrations: Int64 = 256

    /// The last token of a store that no migration at the end of its history has brought.
    private func tokenBeforeMigration(_ standing: Standing) throws -> HistoryToken {
        let (token, floor) = (standing.token.rawValue, standing.information.historyFloor.rawValue)
        let first = HistoryToken(rawValue: max(floor, token - Self.mostMigrations))
        var last = first
        try store(standing.engine).replicaRead { replica in
            try replica.enumerateHistory(after: first) { transaction in
                if transaction.token <= standing.token, !transaction.isMigration { last = transaction.token }
                return true
            }
        }
        return last
    }
}

extension Engines {
    /// The store of an engine in a user's folder.
    func address(_ engine: EngineName, of directory: UserDirectory) -> StoreAddress {
        address(engine, ofUser: directory.user, inFolder: directory.path)
    }
}
