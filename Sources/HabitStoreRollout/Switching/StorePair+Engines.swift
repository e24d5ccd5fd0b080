import HabitStore

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
        guard known.names.contains(where: { !wanted.contains($0) && exists($0) }) else { return wanted }
        var standings: [Standing] = []
        var failure: (any Error)?
        for engine in known.names {
            do {
                if let standing = try standing(engine) { standings.append(standing) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, standings.allSatisfy({ $0.state == nil }) { throw failure }
        return engines(standings, preferring: wanted)
    }

    /// The same, of what the stores have said: the word of the one that leads, by its role and its epoch.
    func engines(_ standings: [Standing], preferring wanted: EnginePair) -> EnginePair {
        let leading = standings.max { Self.rank($0) < Self.rank($1) }
        guard let leading else { return wanted }
        let engines = leading.state?.engines ?? EnginePair(old: leading.engine, new: wanted.other(than: leading.engine))
        let other = engines.other(than: leading.engine)
        // One that cannot be read, or that this program has no engine for, is there all the same.
        let isAlone = known.contains(other) && !exists(other)
        return isAlone && wanted.contains(leading.engine) ? wanted : engines
    }

    private static func rank(_ standing: Standing) -> (Int, Int, Int64) {
        let role = standing.role == .authoritative || standing.role == .sealed ? 1 : 0
        return (role, standing.epoch, Int64(standing.token.rawValue))
    }
}

extension Engines {
    /// The store of an engine in a user's folder.
    func address(_ engine: EngineName, of directory: UserDirectory) -> StoreAddress {
        address(engine, ofUser: directory.user, inFolder: directory.path)
    }
}
