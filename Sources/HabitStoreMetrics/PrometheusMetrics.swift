import CoreMetrics
import Synchronization

/// Stores a program's metrics and provides them in Prometheus' text format.
///
/// ```swift
/// let metrics = PrometheusMetrics()
/// MetricsSystem.bootstrap(metrics)
/// // …
/// let body = metrics.text()   // at /metrics, as MetricFamily.contentType
/// ```
///
/// Counters, gauges and meters become counters and gauges. Timers become histograms in seconds. Aggregating recorders become summaries with a sum and
/// a count. Names follow Prometheus' rules: underscores replace characters that are not allowed, counters end in `_total`, timers in `_seconds`.
/// Recording takes an atomic operation, or a lock that only the series itself uses, and looks up no name.
///
/// The number of series is limited to ``maximumSeries``. Series beyond that, and those whose name already has another kind, are dropped and counted
/// in `habitstore_metrics_dropped_series_total`. A label with a value for each user soon reaches the limit and has no place in metrics.
public final class PrometheusMetrics: MetricsFactory {
    /// The default of ``maximumSeries``.
    public static let defaultMaximumSeries = 10_000
    /// The upper bound of each bucket of timers, in seconds, by default.
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
        /// How many callers have made it and not destroyed it yet.
        var uses = 1
    }

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        /// The name and labels of each series, by its handler.
        var places: [ObjectIdentifier: (name: String, labels: [MetricFamily.Label])] = [:]
        var dropped = 0
    }

    /// The most series that are stored.
    public let maximumSeries: Int
    private let buckets: [String: [Double]]
    private let help: [String: String]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - buckets: the upper bound of each bucket in seconds, by the timers' names; by default those of the list, or ``defaultBuckets``.
    ///   - help: descriptions in one line, by the metrics' names; those of the list are known.
    ///   - maximumSeries: the most series that are stored.
    public init(
        buckets: [String: [Double]] = [:],
        help: [String: String] = [:],
        maximumSeries: Int = PrometheusMetrics.defaultMaximumSeries
    ) {
        (self.buckets, self.help, self.maximumSeries) = (buckets, help, maximumSeries)
    }

    // MARK: Output

    /// All metrics, ordered by name, without those that have no samples.
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
    /// - Parameter others: additional metrics; they replace recorded ones of the same name.
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

    /// A floating-point counter; its name ends in `_total`.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        let name = MetricName.ending(MetricName.metric(label), in: "_total")
        return series(name, .counter, dimensions) { CounterSeries() } ?? DroppedSeries()
    }

    /// A gauge that changes by amounts.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(MetricName.metric(label), .gauge, dimensions) { GaugeSeries() } ?? DroppedSeries()
    }

    /// A gauge, or a summary with a sum and a count if values are aggregated.
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

    /// Removes the series once all its users have destroyed it.
    public func destroyCounter(_ handler: any CounterHandler) { giveBack(handler) }
    /// Removes the series once all its users have destroyed it.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { giveBack(handler) }
    /// Removes the series once all its users have destroyed it.
    public func destroyMeter(_ handler: any MeterHandler) { giveBack(handler) }
    /// Removes the series once all its users have destroyed it.
    public func destroyRecorder(_ handler: any RecorderHandler) { giveBack(handler) }
    /// Removes the series once all its users have destroyed it.
    public func destroyTimer(_ handler: any TimerHandler) { giveBack(handler) }

    /// The series with a name and labels, created if there is none.
    ///
    /// - Returns: nil if there is no room for another one, or the name has another kind.
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

    /// Removes a series once its last user destroys it.
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

    /// The labels without duplicates, ordered by name; `le` belongs to histograms.
    private static func labels(_ dimensions: [(String, String)], _ kind: MetricFamily.Kind) -> [MetricFamily.Label] {
        var labels: [MetricFamily.Label] = []
        for (name, value) in dimensions {
            let isTaken = kind == .histogram && name == "le"
            let label = MetricFamily.Label(isTaken ? "exported_le" : name, value)
            if !labels.contains(where: { $0.name == label.name }) { labels.append(label) }
        }
        return labels.sorted { $0.name < $1.name }
    }

    private static func help(_ name: String) -> String { "Recorded by the program as \(name)." }
}

/// One series: the values of a metric with one set of labels. Recording takes an atomic addition or the series' own lock.
protocol MetricSeries: AnyObject, Sendable {
    /// The samples of this series, with these labels.
    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample]
}

/// A series that only increases.
final class CounterSeries: MetricSeries, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    /// The sum of fractional amounts, as a bit pattern.
    private let parts = Atomic<UInt64>(0)

    /// Ignores negative amounts, which would look like a restart.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        parts.change { $0 + amount }
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        parts.store(0, ordering: .relaxed)
    }

    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        let value = Double(whole.load(ordering: .relaxed)) + Double(bitPattern: parts.load(ordering: .relaxed))
        return [.init(value, labels)]
    }
}

/// A series that increases and decreases.
final class GaugeSeries: MetricSeries, RecorderHandler, MeterHandler {
    /// The value, as a bit pattern.
    private let value = Atomic<UInt64>(0)

    func record(_ value: Int64) { self.value.store(Double(value).bitPattern, ordering: .relaxed) }

    func record(_ value: Double) { self.value.store(value.bitPattern, ordering: .relaxed) }

    func set(_ value: Int64) { record(value) }

    func set(_ value: Double) { record(value) }

    func increment(by amount: Double) { value.change { $0 + amount } }

    func decrement(by amount: Double) { value.change { $0 - amount } }

    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        [.init(Double(bitPattern: value.load(ordering: .relaxed)), labels)]
    }
}

/// Measured durations, counted by size.
final class HistogramSeries: MetricSeries, TimerHandler {
    private struct State {
        var counts: [Int]
        var nanoseconds: Double = 0
    }

    /// The upper bound of each bucket, in nanoseconds, in order; one more bucket counts the rest.
    private let bounds: [Int64]
    private let bucketSeconds: [Double]
    private let state: Mutex<State>

    /// - Parameter buckets: the upper bound of each bucket, in seconds.
    init(buckets: [Double]) {
        bucketSeconds = buckets.filter { $0.isFinite && $0 > 0 && $0 < 1e9 }.sorted()
        bounds = bucketSeconds.map { Int64(($0 * 1e9).rounded()) }
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) {
        var bucket = 0
        while bucket < bounds.count, bounds[bucket] < duration { bucket += 1 }
        let place = bucket
        state.withLock { state in
            state.counts[place] += 1
            state.nanoseconds += Double(duration)
        }
    }

    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        let state = state.withLock { $0 }
        var samples: [MetricFamily.Sample] = []
        var sum = 0
        for (bound, count) in zip(bucketSeconds + [.infinity], state.counts) {
            sum += count
            let largest = MetricFamily.Label("le", MetricFamily.figure(bound))
            samples.append(.init(Double(sum), labels + [largest], suffix: "_bucket"))
        }
        samples.append(.init(state.nanoseconds / 1e9, labels, suffix: "_sum"))
        samples.append(.init(Double(sum), labels, suffix: "_count"))
        return samples
    }
}

/// The sum and count of recorded values.
final class SummarySeries: MetricSeries, RecorderHandler {
    private let state = Mutex((count: 0, sum: 0.0))

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        state.withLock { state in
            state.count += 1
            state.sum += value
        }
    }

    func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
        let state = state.withLock { $0 }
        return [.init(state.sum, labels, suffix: "_sum"), .init(Double(state.count), labels, suffix: "_count")]
    }
}

/// Ignores values for which there is no room for another series.
final class DroppedSeries: CounterHandler, FloatingPointCounterHandler, RecorderHandler, MeterHandler, TimerHandler {
    func increment(by amount: Int64) {}
    func increment(by amount: Double) {}
    func decrement(by amount: Double) {}
    func record(_ value: Int64) {}
    func record(_ value: Double) {}
    func set(_ value: Int64) {}
    func set(_ value: Double) {}
    func recordNanoseconds(_ duration: Int64) {}
    func reset() {}
}

extension Atomic<UInt64> {
    /// Changes a number that is stored as a bit pattern.
    fileprivate func change(_ body: (Double) -> Double) {
        var known = load(ordering: .relaxed)
        while true {
            let (isExchanged, found) = compareExchange(
                expected: known,
                desired: body(Double(bitPattern: known)).bitPattern,
                ordering: .relaxed
            )
            if isExchanged { return }
            known = found
        }
    }
}
