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

extension MetricFamily {
    /// The content type of ``text(_:)``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Metrics in Prometheus' text format, version 0.0.4, in the order of their names.
    public static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families.sorted(by: { $0.name < $1.name }) { family.write(to: &text) }
        return text
    }

    private func write(to text: inout String) {
        guard !samples.isEmpty else { return }
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
                text += "{\(labels.joined(separator: ","))}"
            }
            text += " \(Self.figure(sample.value))\n"
        }
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 }) else { return text }
        var result = ""
        // By scalars, because a carriage return and a line feed form one character.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// A number in a form that Go's `ParseFloat` reads.
    static func figure(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }
}

/// Makes names valid for Prometheus.
enum MetricName {
    /// A metric's name: letters, digits, underscores and colons, not beginning with a digit. Other characters become underscores.
    static func metric(_ name: String) -> String { valid(name) { $0 == ":" } }

    /// A label's name: the same without colons. Prometheus reserves names that begin with two underscores.
    static func label(_ name: String) -> String {
        let name = valid(name) { _ in false }
        return name.hasPrefix("__") ? "label" + name : name
    }

    private static func valid(_ name: String, _ others: (Unicode.Scalar) -> Bool) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
            if isDigit, result.isEmpty { result = "_" }
            result.unicodeScalars.append(isDigit || isLetter || others(scalar) ? scalar : "_")
        }
        return result.isEmpty ? "_" : result
    }

    /// A name with the suffix of a unit or `_total`, as Prometheus' rules ask for.
    static func ending(_ name: String, in suffix: String) -> String { name.hasSuffix(suffix) ? name : name + suffix }
}
