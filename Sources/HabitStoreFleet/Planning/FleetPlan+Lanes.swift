extension FleetPlan.Pace {
    /// The lane of a user with stores of this size.
    func lane(_ bytes: Int) -> FleetMembers.Lane { bytes >= heavyBytes ? .heavy : .normal }

    /// How many users of a lane are moved at the same time.
    func atOnce(_ lane: FleetMembers.Lane) -> Int { lane == .heavy ? heavyAtOnce : atOnce }

    /// When users of a lane may be started; nil for always.
    func hours(_ lane: FleetMembers.Lane) -> FleetPlan.Hours? { lane == .heavy ? heavyHours ?? hours : hours }
}
