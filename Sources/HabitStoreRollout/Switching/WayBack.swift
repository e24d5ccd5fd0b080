import HabitStore

/// Compares where a user is with what the flags want: whether the user goes back, by which way, and why not otherwise.
struct WayBack {
    private let actual: ActualStage
    private let wanted: WantedStage

    init(_ actual: ActualStage, _ wanted: WantedStage) { (self.actual, self.wanted) = (actual, wanted) }

    private var state: RolloutState { actual.state }

    /// Whether the flags concern the rollout that the user is in.
    private var isThisRollout: Bool { wanted.stage != nil && wanted.engines == state.engines }

    private var isWantedBack: Bool {
        guard isThisRollout, let stage = wanted.stage else { return false }
        return stage < actual.stage
    }

    /// Whether the next operation takes the user to the wanted stage, at which the old store follows and is current.
    var isFollowed: Bool {
        isWantedBack && actual.stage != .complete && (!wanted.isBucketed || state.placedBy == .rule)
    }

    /// Whether the next opening brings the old store up to date and takes the user to it.
    var isDirect: Bool {
        isWantedBack && wanted.isDirect && actual.stage.authority == .new
            && (!wanted.isBucketed && !wanted.isBackendBucketed || state.placedBy == .rule)
    }

    /// Why the user stays at a later stage than the flags want; nil if the user is not, or goes back.
    var stays: GateReason? {
        guard isWantedBack, !isFollowed, !isDirect, let stage = wanted.stage else { return nil }
        let isAtTheEnd = actual.stage == .complete && !wanted.isDirect
        return .notTakenBack(
            wanted: stage,
            because: isAtTheEnd ? .complete : state.placedBy == nil ? .unknownPlacement : .percentage
        )
    }

    /// Why the user is at a later stage than the flags want; nil otherwise.
    ///
    /// - Parameter flags: identifies these flags in the user's state, if they have put the user directly on another engine.
    func delay(_ flags: String) -> GateReason? {
        guard isWantedBack, let stage = wanted.stage else { return nil }
        if let stays { return stays }
        let isRefused = !isFollowed && state.hasTurned(by: flags)
        return .notTakenBack(wanted: stage, because: isRefused ? .disagreement : .pending)
    }

    /// The placement for the stores to record, if the flags want the user at this stage or a later one; nil if they already have it.
    var placement: (stage: Placement?, engines: Placement?)? {
        guard isThisRollout, let stage = wanted.stage else { return nil }
        let isConfirmed = actual.stage > .off && stage >= actual.stage
        let found = (
            stage: isConfirmed ? wanted.placement : state.placedBy,
            engines: wanted.pairedBy
        )
        return found == (state.placedBy, state.pairedBy) ? nil : found
    }
}
