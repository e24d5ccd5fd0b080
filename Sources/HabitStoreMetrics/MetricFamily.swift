/// A metric with its samples, as in Prometheus' text format.
public struct MetricFamily: Sendable, Hashable {
    /// The kind of a metric.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Only increases, except for restarts.
        case counter
        /// Increases and decreases.
        case gauge
        /// Counts measured values by size: samples end in `_bucket`, `_sum` and `_count`.
        case histogram
        /// The sum and count of measured values: samples end in `_sum` and `_count`.
        case summary
    }

    /// A label with its value.
    public struct Label: Sendable, Hashable {
        /// The label's name.
        public let name: String
        /// Its value; any text.
        public let value: String

        /// Creates a label. In the name, underscores replace characters that Prometheus does not allow.
        public init(_ name: String, _ value: String) {
            (self.name, self.value) = (MetricName.label(name), value)
        }
    }

    /// One value of a metric.
    public struct Sample: Sendable, Hashable {
        /// The suffix of the metric's name: `_bucket`, `_sum`, `_count`, or empty.
        public let suffix: String
        /// The labels, in output order.
        public let labels: [Label]
        /// The value.
        public let value: Double

        /// Creates a value with its labels.
        public init(_ value: Double, _ labels: [Label] = [], suffix: String = "") {
            (self.value, self.labels, self.suffix) = (value, labels, suffix)
        }
    }

    /// The metric's name.
    public let name: String
    /// A description in one line.
    public let help: String
    /// The metric's kind.
    public let kind: Kind
    /// The samples, in output order.
    public let samples: [Sample]

    /// Creates a metric with its samples.
    public init(_ name: String, _ kind: Kind, help: String, _ samples: [Sample]) {
        (self.name, self.kind, self.help, self.samples) = (MetricName.metric(name), kind, help, samples)
    }

    /// Creates a metric of the list with its samples; its help and kind come from the list.
    package init(_ description: MetricDescription, _ samples: [Sample]) {
        self.init(description.name, description.kind, help: description.help, samples)
    }
}
