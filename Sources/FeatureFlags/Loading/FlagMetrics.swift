import Metrics

/// What is counted. Evaluations are not: a count of them would cost more than they do.
struct FlagMetrics: Sendable {
    private let changed = Counter(label: "feature_flags_reloads", dimensions: [("result", "changed")])
    private let unchanged = Counter(label: "feature_flags_reloads", dimensions: [("result", "unchanged")])
    private let failed = Counter(label: "feature_flags_reloads", dimensions: [("result", "failed")])
    private let duration = Metrics.Timer(label: "feature_flags_reload_duration")
    private let quarantined = Gauge(label: "feature_flags_quarantined")
    private let staleSources = Gauge(label: "feature_flags_stale_sources")
    private let sentinel = Gauge(label: "feature_flags_sentinel_present")

    enum Reload { case changed, unchanged, failed }

    func reloaded(_ result: Reload, nanoseconds: Int64) {
        switch result {
        case .changed: changed.increment()
        case .unchanged: unchanged.increment()
        case .failed: failed.increment()
        }
        duration.recordNanoseconds(nanoseconds)
    }

    func record(_ states: [FlagSourceState]) {
        quarantined.record(states.reduce(0) { $0 + $1.quarantined.count })
        staleSources.record(states.count { $0.status != .current })
    }

    func recordSentinel(isPresent: Bool) { sentinel.record(isPresent ? 1 : 0) }
}
