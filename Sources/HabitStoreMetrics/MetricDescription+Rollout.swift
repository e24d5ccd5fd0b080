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

    /// Counts the metrics that were dropped.
    static let droppedSeries = MetricDescription(
        "metrics_dropped_series_total",
        .counter,
        .metrics,
        "Metrics that were requested but dropped: beyond the limit of series, or of another kind than their name."
    )
}
