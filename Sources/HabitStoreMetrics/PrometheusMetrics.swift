import CoreMetrics
import Synchronization

/// Keeps what a program counts and measures, and hands it out in Prometheus' text format.
///
/// ```swift
/// let metrics = PrometheusMetrics()
/// MetricsSystem.bootstrap(metrics)
/// // …
/// let body = metrics.text()   // at /metrics, as MetricFamily.contentType
/// ```
///
/// Counters, gauges and meters are what they are called. Timers are histograms in seconds. Recorders that aggregate are summaries of a sum
/// and a count. Names are brought to Prometheus' rules: characters that it does not take become underscores, counters end in `_total`,
/// timers in `_seconds`. Recording takes an atomic operation, or a lock that only the series itself uses; no name is looked up for it.
///
/// There are limits: ``maximumSeries`` series; those that come after are counted in `habitstore_metrics_dropped_series_total` and not kept,
/// and so are those whose name is another kind's already. A label with a value for each user comes to that limit soon, and has no
/// place in metrics.
public final class PrometheusMetrics: MetricsFactory {
    /// How many series are kept unless another number is given.
    public static let defaultMaximumSeries = 10_000
    /// The largest value of each bucket of timers, in seconds, unless others are given for a name.
    public static let defaultBuckets = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct Family {
        let kind: MetricFamily.Kind
        let help: String
        var series: [[MetricFamily.Label]: Entry] = [:]
    }

    private struct Entry {
        let series: any MetricSeries
        /// How many have asked for it and not given it back.
        var uses = 1
    }

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        /// Where a series is to be found, for whoever gives it back.
        var places: [ObjectIdentifier: (name: String, labels: [MetricFamily.Label])] = [:]
        var dropped = 0
    }

    /// How many series are kept.
    public let maximumSeries: Int
    private let buckets: [String: [Double]]
    private let help: [String: String]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - buckets: the largest value of each bucket in seconds, by the timers' names; those of the catalogue and
    ///     ``defaultBuckets`` where none are given.
    ///   - help: what metrics are, in one line, by their names; those of the catalogue are known.
    ///   - maximumSeries: how many series are kept.
    public init(
        buckets: [String: [Double]] = [:],
        help: [String: String] = [:],
        maximumSeries: Int = PrometheusMetrics.defaultMaximumSeries
    ) {
        (self.buckets, self.help, self.maximumSeries) = (buckets, help, maximumSeries)
    }

    // MARK: What was recorded

    /// All metrics, in the order of their names; those of which nothing was made are left out.
    public var families: [MetricFamily] {
        let (families, dropped) = state.withLock { ($0.families, $0.dropped) }
        var found = families.map { name, family in
            let series = family.series.sorted { Self.precedes($0.key, $1.key) }
            return MetricFamily(name, family.kind, help: family.help, series.flatMap { $1.series.samples($0) })
        }
        if dropped > 0 { found.append(MetricFamily(.droppedSeries, [.init(Double(dropped))])) }
        return found.filter { !$0.samples.isEmpty }.sorted { $0.name < $1.name }
    }

    /// All metrics in Prometheus' text format.
    ///
    /// - Parameter others: what else is to be in it; a metric of the same name takes the place of what was recorded here.
    public func text(adding others: [MetricFamily] = []) -> String {
        let names = Set(others.map(\.name))
        return MetricFamily.text(families.filter { !names.contains($0.name) } + others)
    }

    private static func precedes(_ a: [MetricFamily.Label], _ b: [MetricFamily.Label]) -> Bool {
        a.lexicographicallyPrecedes(b) { ($0.name, $0.value) < ($1.name, $1.value) }
    }

    // MARK: Series

    /// A counter; its name ends in `_total`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let name = MetricName.ending(MetricName.metric(label), in: "_total")
        return series(name, .counter, dimensions) { CounterSeries() } ?? DroppedSeries()
    }

    /// A counter of parts; its name ends in `_total`.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        let name = MetricName.ending(MetricName.metric(label), in: "_total")
        return series(name, .counter, dimensions) { CounterSeries() } ?? DroppedSeries()
    }

    /// A gauge that goes up and down by amounts.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(MetricName.metric(label), .gauge, dimensions) { GaugeSeries() } ?? DroppedSeries()
    }

    /// A gauge, or a summary of a sum and a count where values are aggregated.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let name = MetricName.metric(label)
        guard aggregate else { return series(name, .gauge, dimensions) { GaugeSeries() } ?? DroppedSeries() }
        return series(name, .summary, dimensions) { SummarySeries() } ?? DroppedSeries()
    }

    /// A histogram in seconds; its name ends in `_seconds`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let name = MetricName.ending(MetricName.metric(label), in: "_seconds")
        let bounds = buckets[name] ?? MetricDescription.named(name)?.buckets ?? Self.defaultBuckets
        return series(name, .histogram, dimensions) { HistogramSeries(buckets: bounds) } ?? DroppedSeries()
    }

    /// Forgets the series, once all who asked for it have given it back.
    public func destroyCounter(_ handler: any CounterHandler) { giveBack(handler) }
    /// Forgets the series, once all who asked for it have given it back.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { giveBack(handler) }
    /// Forgets the series, once all who asked for it have given it back.
    public func destroyMeter(_ handler: any MeterHandler) { giveBack(handler) }
    /// Forgets the series, once all who asked for it have given it back.
    public func destroyRecorder(_ handler: any RecorderHandler) { giveBack(handler) }
    /// Forgets the series, once all who asked for it have given it back.
    public func destroyTimer(_ handler: any TimerHandler) { giveBack(handler) }

    /// The series of a name and labels, which is made where there is none.
    ///
    /// - Returns: nil where there is no room for another one, or the name is of another kind.
    private func series<Series: MetricSeries>(
        _ name: String,
        _ kind: MetricFamily.Kind,
        _ dimensions: [(String, String)],
        _ make: () -> Series
    ) -> Series? {
        let labels = Self.labels(dimensions, kind)
        return state.withLock { state in
            var family =
                state.families[name]
                ?? Family(kind: kind, help: help[name] ?? MetricDescription.named(name)?.help ?? Self.help(name))
            if let known = family.series[labels]?.series as? Series, family.kind == kind {
                state.families[name]?.series[labels]?.uses += 1
                return known
            }
            guard family.kind == kind, family.series[labels] == nil, state.seriesCount < maximumSeries else {
                state.dropped += 1
                return nil
            }
            let made = make()
            family.series[labels] = Entry(series: made)
            state.families[name] = family
            state.seriesCount += 1
            state.places[ObjectIdentifier(made)] = (name, labels)
            return made
        }
    }

    /// Forgets a series that nobody else has asked for.
    private func giveBack(_ handler: AnyObject) {
        let id = ObjectIdentifier(handler)
        state.withLock { state in
            guard let (name, labels) = state.places[id], var entry = state.families[name]?.series[labels] else {
                return
            }
            entry.uses -= 1
            guard entry.uses <= 0 else {
                state.families[name]?.series[labels] = entry
                return
            }
            state.families[name]?.series[labels] = nil
            if state.families[name]?.series.isEmpty == true { state.families[name] = nil }
            state.places[id] = nil
            state.seriesCount -= 1
        }
    }

    /// Each label once, in the order of their names; `le` is a histogram's own.
    private static func labels(_ dimensions: [(String, String)], _ kind: MetricFamily.Kind) -> [MetricFamily.Label] {
        var labels: [MetricFamily.Label] = []
        for (name, value) in dimensions {
            let isTaken = kind == .histogram && name == "le"
            let label = MetricFamily.Label(isTaken ? "exported_le" : name, value)
            if !labels.contains(where: { $0.name == label.name }) { labels.append(label) }
        }
        return labels.sorted { $0.name < $1.name }
    }

    private static func help(_ name: String) -> String { "What the program records as \(name)." }
}
