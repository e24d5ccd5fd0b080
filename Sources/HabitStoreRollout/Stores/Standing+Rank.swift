import HabitStore

extension Standing {
    /// Whether the store serves, or was sealed in the middle of a move.
    var hasRole: Bool { role == .authoritative || role == .sealed }

    /// Whether the store serves, or has: one that was only just made calls itself authoritative too, in the epoch 0.
    var hasServed: Bool { hasRole && epoch >= StageSwitch.firstEpoch }

    /// Whether another machine has accepted the other store, and this one, which served, holds what that has not: a move that leads
    /// where it comes from is none.
    var isLeftBehind: Bool { role == .sealed && state?.movingTo != nil && state?.movingTo == state?.stage }

    /// Whether the store is the old one and sure to hold everything that was ever acknowledged or shown.
    var claimsAll: Bool {
        guard let state, state.side(engine) == .old, !isLeftBehind else { return false }
        return role == .sealed
            ? state.movingTo != nil && state.movingTo != .complete : role == .standby && state.claimsAll
    }
}

extension Sequence<Standing> {
    /// The store whose word on the rollout counts: one with a role before one without, and then the one of the highest epoch.
    /// A sealed store with a higher epoch than any authoritative one was reopened once, and left again since the other one was
    /// given its epoch by a kill that slept.
    var leading: Standing? {
        func rank(_ standing: Standing) -> (Int, Int, Int, Int64) {
            let isServing = standing.role == .authoritative ? 1 : 0
            return (standing.hasRole ? 1 : 0, standing.epoch, isServing, Int64(standing.token.rawValue))
        }
        return self.max { rank($0) < rank($1) }
    }
}
