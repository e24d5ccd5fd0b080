import Metrics

/// The metrics; the table of ``FlagProvider`` explains each. Evaluations are not counted, since that would cost more than they do.
struct FlagMetrics: Sendable {
    enum Reload: String, CaseIterable { case changed, unchanged, failed }

    private let reloads: [Reload: Counter]
    private let duration: Metrics.Timer
    private let quarantined: Gauge
    private let staleSources: Gauge
    private let sentinel: Gauge

    init(factory: any MetricsFactory) {
        var reloads: [Reload: Counter] = [:]
        for result in Reload.allCases {
            reloads[result] = Counter(
                label: "habitstore_flag_reloads_total",
                dimensions: [("result", result.rawValue)],
                factory: factory
            )
        }
        self.reloads = reloads
        duration = Metrics.Timer(label: "habitstore_flag_reload_duration_seconds", factory: factory)
        quarantined = Gauge(label: "habitstore_flags_quarantined", factory: factory)
        staleSources = Gauge(label: "habitstore_flag_sources_stale", factory: factory)
        sentinel = Gauge(label: "habitstore_kill_sentinel_present", factory: factory)
    }

    func reloaded(_ result: Reload, nanoseconds: Int64) {
        reloads[result]?.increment()
        duration.recordNanoseconds(nanoseconds)
    }

    func record(_ states: [FlagSourceState]) {
        quarantined.record(states.reduce(0) { $0 + $1.quarantined.count })
        staleSources.record(states.count { $0.status != .current })
    }

    func recordSentinel(isPresent: Bool) { sentinel.record(isPresent ? 1 : 0) }
}
