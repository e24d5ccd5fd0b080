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
    public static let all = rollout + flags + fleet + [droppedSeries]
}
