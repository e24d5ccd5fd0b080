import CoreMetrics
import Synchronization

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
