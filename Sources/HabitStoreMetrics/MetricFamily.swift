/// A metric with its samples, as Prometheus' text format has it.
public struct MetricFamily: Sendable, Hashable {
    /// What kind of metric it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Only ever grows, but for a restart.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts what was measured by how large it was: samples end in `_bucket`, `_sum` and `_count`.
        case histogram
        /// What was measured, summed up: samples end in `_sum` and `_count`.
        case summary
    }

    /// A label with its value.
    public struct Label: Sendable, Hashable {
        /// The label's name.
        public let name: String
        /// Its value, any text.
        public let value: String

        /// A label. What no label may be called gets underscores in the place of other characters.
        public init(_ name: String, _ value: String) {
            (self.name, self.value) = (MetricName.label(name), value)
        }
    }

    /// A figure.
    public struct Sample: Sendable, Hashable {
        /// What follows the metric's name: `_bucket`, `_sum` or `_count`, or nothing.
        public let suffix: String
        /// The labels, in the order in which they are written.
        public let labels: [Label]
        /// The figure.
        public let value: Double

        /// A figure with its labels.
        public init(_ value: Double, _ labels: [Label] = [], suffix: String = "") {
            (self.value, self.labels, self.suffix) = (value, labels, suffix)
        }
    }

    /// The metric's name.
    public let name: String
    /// What it is, in one line.
    public let help: String
    /// What kind it is.
    public let kind: Kind
    /// The figures, in the order in which they are written.
    public let samples: [Sample]

    /// A metric with its samples.
    public init(_ name: String, _ kind: Kind, help: String, _ samples: [Sample]) {
        (self.name, self.kind, self.help, self.samples) = (MetricName.metric(name), kind, help, samples)
    }

    /// A metric of the catalogue with its samples; its help and kind are those that are written there.
    package init(_ description: MetricDescription, _ samples: [Sample]) {
        self.init(description.name, description.kind, help: description.help, samples)
    }
}
