extension MetricDescription {
    /// The metrics from a fleet's index and files.
    static let fleet: [MetricDescription] = [
        users, fleetState, fleetHalted, fleetWaves, waitingUsers, arrivedUsers, differentUsers, evidenceBroken,
        fleetLag,
        fleetStoreBytes,
        ledgerDamaged, lastEvent, userWriteDuration,
    ]

    package static let users = Self(
        "users",
        .gauge,
        .fleet,
        labels: ["stage", "wave"],
        "Users of the fleet by stage and wave, as last seen; unknown for users not yet examined."
    )
    package static let fleetState = Self(
        "fleet_state",
        .gauge,
        .fleet,
        labels: ["state"],
        "1 for what the fleet is doing, 0 for the other states."
    )
    package static let fleetHalted = Self(
        "fleet_halted",
        .gauge,
        .fleet,
        labels: ["reason"],
        "1 for the reason that halted the fleet, 0 for the others. What helps: rollout runbook REASON, with the operator's command."
    )
    package static let fleetWaves = Self(
        "fleet_waves",
        .gauge,
        .fleet,
        labels: ["state"],
        "Waves of the fleet by state."
    )
    package static let waitingUsers = Self(
        "waiting_users",
        .gauge,
        .fleet,
        labels: ["reason"],
        "Users who wait, by reason; a user with several reasons is counted under each. What helps: rollout runbook REASON, with the operator's command."
    )
    package static let arrivedUsers = Self(
        "arrived_users",
        .gauge,
        .fleet,
        "Users who have reached the stage that the fleet's plan wants."
    )
    package static let differentUsers = Self(
        "different_users",
        .gauge,
        .fleet,
        "Users whose stores were found to differ, and whom no complete verification has found equal since."
    )
    package static let evidenceBroken = Self(
        "evidence_broken",
        .gauge,
        .fleet,
        "Users whose evidence is damaged, cut off, or another user's."
    )
    package static let fleetLag = Self(
        "fleet_mirror_lag_transactions",
        .gauge,
        .fleet,
        "The largest lag of a mirror of any user of the fleet, as last seen."
    )
    package static let fleetStoreBytes = Self(
        "fleet_store_bytes",
        .gauge,
        .fleet,
        labels: ["wave"],
        "The size of the stores of a wave's users when the waves were drawn."
    )
    package static let ledgerDamaged = Self(
        "fleet_ledger_damaged",
        .gauge,
        .fleet,
        "1 if a line of the fleet's ledger is damaged, else 0."
    )
    package static let lastEvent = Self(
        "fleet_last_event_timestamp_seconds",
        .gauge,
        .fleet,
        "When the last line of the fleet's ledger was written, in seconds since 1970."
    )
    package static let userWriteDuration = Self(
        "user_write_duration_seconds",
        .gauge,
        .fleet,
        labels: ["stage", "percentile"],
        "How long users' writes took at a stage, in the last interval that the fleet has measured: the 50th and the 99th percentile."
    )
}
