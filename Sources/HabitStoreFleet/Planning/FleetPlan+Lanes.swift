extension FleetPlan.Pace {
    /// The lane of a user whose stores have so many bytes.
    func lane(_ bytes: Int) -> FleetMembers.Lane { bytes >= heavyBytes ? .heavy : .normal }

    /// How many users of a lane are moved at once.
    func atOnce(_ lane: FleetMembers.Lane) -> Int { lane == .heavy ? heavyAtOnce : atOnce }

    /// When users of a lane may be begun with; nil for always.
    func hours(_ lane: FleetMembers.Lane) -> FleetPlan.Hours? { lane == .heavy ? heavyHours ?? hours : hours }
}
