/// A metric of this package, as described in the list.
public struct MetricDescription: Sendable, Hashable {
    /// The source of a metric.
    public enum Origin: String, Sendable, Hashable, CaseIterable {
        /// Recorded by a process that has opened users' stores.
        case rollout
        /// Recorded by a process that follows flag files.
        case flags
        /// Read from a fleet's index and files on request.
        case fleet
        /// Read from the records of first launches on request.
        case launches
        /// About the metrics themselves.
        case metrics
    }

    /// The metric's name.
    public let name: String
    /// The metric's kind.
    public let kind: MetricFamily.Kind
    /// The names of its labels.
    public let labels: [String]
    /// A description in one line.
    public let help: String
    /// The source of the metric.
    public let origin: Origin
    /// The upper bound of each bucket of a histogram, in seconds; nil for ``PrometheusMetrics/defaultBuckets``.
    public let buckets: [Double]?

    init(
        _ name: String,
        _ kind: MetricFamily.Kind,
        _ origin: Origin,
        labels: [String] = [],
        buckets: [Double]? = nil,
        _ help: String
    ) {
        self.name = "habitstore_" + name
        (self.kind, self.origin, self.labels, self.buckets, self.help) = (kind, origin, labels, buckets, help)
    }

    /// The metric with a name; nil if this package has none.
    public static func named(_ name: String) -> MetricDescription? { byName[name] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    /// All metrics of this package, in the order of the list.
    public static let all = rollout + flags + fleet + [firstLaunches, oldFilesWritten, droppedSeries]
}

extension MetricDescription {
    /// For copies, verifications and rehearsals: from hundredths of a second to hours.
    private static let longBuckets = [0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 30, 60, 300, 900, 3_600, 14_400]

    /// The metrics that the rollout records.
    static let rollout: [MetricDescription] = [
        .init(
            "operation_duration_seconds",
            .histogram,
            .rollout,
            labels: ["engine", "operation"],
            "How long an engine took: for a user's write (write), for carrying writes over to the mirror (mirror), for a compared read "
                + "(shadow)."
        ),
        .init(
            "shadow_reads_total",
            .counter,
            .rollout,
            labels: ["verdict"],
            "Shadow reads, by verdict."
        ),
        .init(
            "differences_total",
            .counter,
            .rollout,
            labels: ["found_by"],
            "Differences between a user's stores, by what found them: shadow_read, verification, or open for a store that was damaged "
                + "while it served."
        ),
        .init(
            "mirror_lag_transactions",
            .gauge,
            .rollout,
            "Transactions that the mirrors of the users open in this process still lack, in total."
        ),
        .init("lagging_users", .gauge, .rollout, "Users open in this process whose mirror lags."),
        .init("open_users", .gauge, .rollout, "Users whose files are open in this process."),
        .init("users_closed_total", .counter, .rollout, "Users who were closed to make room for others."),
        .init("stage_changes_total", .counter, .rollout, labels: ["from", "to"], "Moves of users, by their stages."),
        .init(
            "promotions_total",
            .counter,
            .rollout,
            labels: ["outcome"],
            "Attempts to move a user forward: promoted, refused by the gate, or failed."
        ),
        .init(
            "gate_refusals_total",
            .counter,
            .rollout,
            labels: ["reason"],
            "Reasons for which the gate refused a promotion; one refusal may have several."
        ),
        .init(
            "demotions_total",
            .counter,
            .rollout,
            labels: ["cause"],
            "Users who went back to an earlier stage, by cause: killed, differenceFound, demoted by hand, followedFlags, and so on."
        ),
        .init("kills_total", .counter, .rollout, "Users whom the kill switch took back, or kept back."),
        killEngaged,
        .init(
            "verifications_total",
            .counter,
            .rollout,
            labels: ["verdict"],
            "Full verifications of a user's stores, by their verdict."
        ),
        .init(
            "verification_duration_seconds",
            .histogram,
            .rollout,
            buckets: longBuckets,
            "How long full verifications of a user's stores took."
        ),
        .init("verified_records_total", .counter, .rollout, "Records whose contents full verifications compared."),
        .init("backfilled_records_total", .counter, .rollout, "Records that copies brought into users' new stores."),
        .init(
            "rehearsals_total",
            .counter,
            .rollout,
            labels: ["outcome"],
            "Rehearsals of the way back: clean or failed."
        ),
        .init(
            "last_rehearsal_timestamp_seconds",
            .gauge,
            .rollout,
            "When this process last rehearsed the way back of any user successfully, in seconds since 1970."
        ),
        .init(
            "evidence_write_failures_total",
            .counter,
            .rollout,
            "Attempts to write evidence that failed; the user's gate is closed until it is written."
        ),
        .init(
            "live_query_answers_total",
            .counter,
            .rollout,
            labels: ["answer"],
            "Results of live queries: patched from the history, or fetched again."
        ),
        .init(
            "live_query_differences_total",
            .counter,
            .rollout,
            "Patched results of live queries that differed from the fetched ones."
        ),
    ]

    /// Recorded by the rollout, and read from the files under the root by a fleet.
    package static let killEngaged = Self(
        "kill_engaged",
        .gauge,
        .rollout,
        "1 while the kill switch is pulled for everybody, or was and is not re-armed; else 0."
    )

    /// The metrics that processes which follow flag files record.
    static let flags: [MetricDescription] = [
        .init(
            "flag_reloads_total",
            .counter,
            .flags,
            labels: ["result"],
            "How often a flag file was read: changed, unchanged or failed."
        ),
        .init("flag_reload_duration_seconds", .histogram, .flags, "How long reading a flag file took."),
        .init("flags_quarantined", .gauge, .flags, "Flags of the files in force that cannot be parsed."),
        .init("flag_sources_stale", .gauge, .flags, "Flag files whose current content is not in force."),
        .init("kill_sentinel_present", .gauge, .flags, "1 while the kill switch's sentinel file exists, else 0."),
    ]

    /// Users by what their first launches came to.
    package static let firstLaunches = Self(
        "first_launches",
        .gauge,
        .launches,
        labels: ["state", "reason"],
        "Users by their way from the old file to the store: waiting, with the code of the last reason or killed, moved, or unknown."
    )
    /// Old files that are out of date and were written to.
    package static let oldFilesWritten = Self(
        "old_files_written",
        .gauge,
        .launches,
        "Old files that the app's old code has changed after the store had taken over."
    )

    /// Counts the metrics that were dropped.
    static let droppedSeries = MetricDescription(
        "metrics_dropped_series_total",
        .counter,
        .metrics,
        "Metrics that were requested but dropped: beyond the limit of series, or of another kind than their name."
    )
}

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

extension MetricDescription {
    /// The list as a Markdown table, for the article *Metrics*.
    package static func table(_ origin: Origin) -> String {
        let rows = all.filter { $0.origin == origin }.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }
        return (["| name | kind | labels | what it says |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}
