/// A metric of this package: what is written of it in the list.
public struct MetricDescription: Sendable, Hashable {
    /// Where a metric comes from.
    public enum Origin: String, Sendable, Hashable, CaseIterable {
        /// Recorded by a process that has users' stores open.
        case rollout
        /// Recorded by a process that follows flag files.
        case flags
        /// Made from a fleet's index and files when it is asked for.
        case fleet
        /// Of the metrics themselves.
        case metrics
    }

    /// The metric's name.
    public let name: String
    /// What kind it is.
    public let kind: MetricFamily.Kind
    /// The names of its labels.
    public let labels: [String]
    /// What it is, in one line.
    public let help: String
    /// Who makes it.
    public let origin: Origin
    /// The largest value of each bucket of a histogram, in seconds; nil for ``PrometheusMetrics/defaultBuckets``.
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

    /// The metric of a name; nil for one that is not this package's.
    public static func named(_ name: String) -> MetricDescription? { byName[name] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    /// All metrics of this package, in the order of the list.
    public static let all = rollout + flags + fleet + [droppedSeries]
}
