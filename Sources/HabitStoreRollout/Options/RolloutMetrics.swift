import HabitStore
import Metrics

/// What is counted and measured. Reads are not timed one by one, which would cost more than it tells; those that are
/// compared are, on both engines.
struct RolloutMetrics: Sendable {
    /// What is timed.
    enum Operation: String, CaseIterable {
        /// A write transaction of the authoritative store.
        case write
        /// Carrying writes over to the mirror.
        case mirror
        /// A shadow read.
        case shadow
    }

    private let timers: [EngineName: [Operation: Timer]]
    private let shadowReads = ShadowVerdict.allCases.map { verdict in
        Counter(label: "habit_store_shadow_reads", dimensions: [("verdict", verdict.rawValue)])
    }
    private let lag = Gauge(label: "habit_store_mirror_lag")
    private let open = Gauge(label: "habit_store_open_users")
    private let closings = Counter(label: "habit_store_users_closed")
    private let liveDifferences = Counter(label: "habit_store_live_query_differences")
    private let kills = Counter(label: "habit_store_kills")
    private let refusals = Counter(label: "habit_store_promotions_refused")

    init(_ engines: Engines) {
        timers = Dictionary(
            uniqueKeysWithValues: engines.names.map { engine in
                (
                    engine,
                    Dictionary(
                        uniqueKeysWithValues: Operation.allCases.map { operation in
                            let dimensions = [("engine", engine.rawValue), ("operation", operation.rawValue)]
                            return (operation, Timer(label: "habit_store_latency", dimensions: dimensions))
                        }
                    )
                )
            }
        )
    }

    /// How many transactions the mirror is behind.
    func mirrorLag(_ transactions: Int) { lag.record(transactions) }

    /// How many users are open.
    func openUsers(_ count: Int) { open.record(count) }

    /// A user was closed to make room for another one.
    func userClosed() { closings.increment() }

    /// A user was moved.
    func stageChanged(from: Stage, to: Stage) {
        Counter(label: "habit_store_stage_changes", dimensions: [("from", from.rawValue), ("to", to.rawValue)])
            .increment()
    }

    /// The answer of a live query that was patched differed from the asked one.
    func liveQueryDiffered() { liveDifferences.increment() }

    /// The kill switch took a user back.
    func killed() { kills.increment() }

    /// The gate refused.
    func refused() { refusals.increment() }

    /// Shadow reads ended.
    func shadowRead(_ verdict: ShadowVerdict, _ count: Int) { shadowReads[verdict.position].increment(by: count) }

    /// How long an engine took for something.
    func latency(_ engine: EngineName, _ operation: Operation, since start: ContinuousClock.Instant) {
        let parts = (ContinuousClock.now - start).components
        timers[engine]?[operation]?
            .recordNanoseconds(parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000)
    }
}
