import HabitStore

extension Standing {
    /// Whether the store serves, or was sealed in the middle of a move.
    var hasRole: Bool { role == .authoritative || role == .sealed }

    /// Whether the store serves, or has served: a new store is also authoritative, but in epoch 0.
    var hasServed: Bool { hasRole && epoch >= StageSwitch.firstEpoch }

    /// Whether this store served until another machine accepted the other store, so that it has transactions that the other one lacks: it is sealed
    /// for a move to its own stage.
    var isLeftBehind: Bool { role == .sealed && state?.movingTo != nil && state?.movingTo == state?.stage }

    /// Whether the store is the old one and known to have everything that was ever acknowledged or shown.
    var claimsAll: Bool {
        guard let state, state.side(engine) == .old, !isLeftBehind else { return false }
        return role == .sealed
            ? state.movingTo != nil && state.movingTo != .complete : role == .standby && state.claimsAll
    }
}

extension Sequence<Standing> {
    /// The store whose rollout state counts: a store with a role before one without, then the one with the highest epoch. A sealed store with a
    /// higher epoch than any authoritative one was reopened once and left again, since a kill that was suspended gave the other store its epoch.
    var leading: Standing? {
        func rank(_ standing: Standing) -> (Int, Int, Int, Int64) {
            let isServing = standing.role == .authoritative ? 1 : 0
            return (standing.hasRole ? 1 : 0, standing.epoch, isServing, Int64(standing.token.rawValue))
        }
        return self.max { rank($0) < rank($1) }
    }
}
