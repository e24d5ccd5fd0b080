@_spi(Engines) import HabitStore

extension StorePair {
    /// The two engines of a user's rollout.
    ///
    /// The flags decide as long as the user has no stores of other engines. A user in the middle of another rollout, or at its end with both stores
    /// still there, stays with the engines that the stores themselves name.
    ///
    /// - Parameter wanted: the engines that the flags want.
    /// - Throws: why a store cannot be read, if no other store names the engines.
    func engines(preferring wanted: EnginePair) throws -> EnginePair {
        if known.names.allSatisfy(wanted.contains) { return wanted }
        guard known.names.contains(where: { !wanted.contains($0) && mayExist($0) }) else { return wanted }
        let found = look()
        if let failure = found.failure, found.standings.allSatisfy({ $0.state == nil }) { throw failure }
        return engines(found.standings, preferring: wanted)
    }

    /// The same, from the status of the stores: the leading store decides.
    func engines(_ standings: [Standing], preferring wanted: EnginePair) -> EnginePair {
        guard let leading = standings.leading else { return wanted }
        let engines = leading.state?.engines ?? EnginePair(old: leading.engine, new: wanted.other(than: leading.engine))
        let other = engines.other(than: leading.engine)
        // A store that cannot be read, or whose engine this program lacks, still exists.
        let isAlone = known.contains(other) && !mayExist(other)
        return isAlone && wanted.contains(leading.engine) ? wanted : engines
    }

    /// Whether there is a store; true if unknown.
    func mayExist(_ engine: EngineName) -> Bool { (try? exists(engine)) ?? true }

    /// The status of all of the user's stores, each read once.
    ///
    /// - Parameter limitSeconds: the time limit for each; nil for none. A store that hangs keeps its thread.
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
        // They were not read at the same moment, and both may have got a write in between.
        if let ahead = found.standings.max(by: { $0.token < $1.token }), ahead.role == .standby {
            for engine in found.standings.map(\.engine) where engine != ahead.engine { ask(engine) }
        }
        return withoutMigrations(found, limitSeconds: limitSeconds)
    }

    /// The same, but a store that does not serve and was migrated before the other one is shown as before its migration: what the migration's hooks
    /// changed is not part of the common history. Mistaken for writes, it would make the serving store look restored from a copy, or the other one
    /// look complete.
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

    /// The most transactions of a migration at the end of a history: two per stage of a plan.
    private static let mostMigrations: Int64 = 256

    /// The last token of a store before a migration at the end of its history.
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
