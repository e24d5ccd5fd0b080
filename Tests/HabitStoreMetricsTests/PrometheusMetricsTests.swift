import Dispatch
import Foundation
import HabitStoreMetrics
import Metrics
import Testing

/// Recorded metrics and their text form.
struct PrometheusMetricsTests {
    private func lines(_ metrics: PrometheusMetrics) -> [Substring] { metrics.text().split(separator: "\n") }

    @Test func countersGaugesAndMetersSayWhatWasRecorded() {
        let metrics = PrometheusMetrics(help: ["visits_total": "Visits."])
        let visits = Counter(label: "visits", dimensions: [("path", "/a"), ("code", "200")], factory: metrics)
        visits.increment()
        visits.increment(by: 41)
        // A lower value would look like a restart.
        visits.increment(by: -3)
        Gauge(label: "queue.length", factory: metrics).record(-2.5)
        let meter = Meter(label: "open", factory: metrics)
        meter.set(3)
        meter.increment(by: 2.0)
        meter.decrement(by: 1.0)
        let part = FloatingPointCounter(label: "joules_total", factory: metrics)
        part.increment(by: 0.25)
        part.increment(by: 0.5)
        part.increment(by: Double.nan)
        #expect(
            metrics.text() == """
                # HELP joules_total Recorded by the program as joules_total.
                # TYPE joules_total counter
                joules_total 0.75
                # HELP open Recorded by the program as open.
                # TYPE open gauge
                open 4
                # HELP queue_length Recorded by the program as queue_length.
                # TYPE queue_length gauge
                queue_length -2.5
                # HELP visits_total Visits.
                # TYPE visits_total counter
                visits_total{code="200",path="/a"} 42

                """
        )
        visits.reset()
        #expect(lines(metrics).last == #"visits_total{code="200",path="/a"} 0"#)
    }

    @Test func aTimerIsAHistogramInSeconds() {
        let metrics = PrometheusMetrics(buckets: ["work_seconds": [1, 0.001, 0.1]])
        let timer = Metrics.Timer(label: "work", dimensions: [("le", "x")], factory: metrics)
        timer.recordNanoseconds(1_000_000)
        timer.recordMilliseconds(50)
        timer.recordSeconds(2)
        #expect(
            metrics.text() == """
                # HELP work_seconds Recorded by the program as work_seconds.
                # TYPE work_seconds histogram
                work_seconds_bucket{exported_le="x",le="0.001"} 1
                work_seconds_bucket{exported_le="x",le="0.1"} 2
                work_seconds_bucket{exported_le="x",le="1"} 2
                work_seconds_bucket{exported_le="x",le="+Inf"} 3
                work_seconds_sum{exported_le="x"} 2.051
                work_seconds_count{exported_le="x"} 3

                """
        )
    }

    @Test func aRecorderIsASumAndACount() {
        let metrics = PrometheusMetrics()
        let recorder = Recorder(label: "rows", factory: metrics)
        recorder.record(3)
        recorder.record(4.5)
        #expect(lines(metrics).suffix(2) == ["rows_sum 7.5", "rows_count 2"])
        #expect(lines(metrics)[1] == "# TYPE rows summary")
    }

    @Test func labelsAndHelpAreEscapedAndNamesAreMadeValid() {
        let metrics = PrometheusMetrics(help: ["_1_a_b_total": "Of \"a\\b\",\nin two lines."])
        let dimensions = [("__name__", "a\\b\"c\"\nd\r\n"), ("9-é", "ü"), ("x", "1"), ("x", "2")]
        Counter(label: "1.a-b", dimensions: dimensions, factory: metrics).increment()
        #expect(
            metrics.text() == """
                # HELP _1_a_b_total Of "a\\\\b",\\nin two lines.
                # TYPE _1_a_b_total counter
                _1_a_b_total{_9__="ü",label__name__="a\\\\b\\"c\\"\\nd\r\\n",x="1"} 1

                """
        )
    }

    @Test func figuresAreWrittenAsTheFormatWantsThem() {
        let samples = [Double.nan, .infinity, -.infinity, 1e300, -0.0, 9_007_199_254_740_992, .leastNonzeroMagnitude]
            .map {
                MetricFamily.Sample($0)
            }
        let text = MetricFamily.text([MetricFamily("a", .gauge, help: "A.", samples)])
        let figures = text.split(separator: "\n").dropFirst(2).map { String($0.dropFirst(2)) }
        #expect(figures == ["NaN", "+Inf", "-Inf", "1e+300", "0", "9007199254740992", "5e-324"])
    }

    @Test func theSameLabelsAreOneSeriesUntilAllHaveGivenItBack() {
        let metrics = PrometheusMetrics()
        let first = Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: metrics)
        let second = Counter(label: "a", dimensions: [("y", "2"), ("x", "1")], factory: metrics)
        first.increment()
        second.increment()
        #expect(lines(metrics).last == #"a_total{x="1",y="2"} 2"#)
        first.destroy()
        #expect(lines(metrics).last == #"a_total{x="1",y="2"} 2"#)
        second.destroy()
        #expect(metrics.text() == "")
        Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: metrics).increment()
        #expect(lines(metrics).last == #"a_total{x="1",y="2"} 1"#)
    }

    /// A label with each user's id would use up the process's memory; a metric counts the series beyond the limit.
    @Test func seriesBeyondTheLimitAreCountedAndNotKept() {
        let metrics = PrometheusMetrics(maximumSeries: 10)
        for user in 0..<25 { Counter(label: "a", dimensions: [("user", "\(user)")], factory: metrics).increment() }
        #expect(lines(metrics).count { $0.hasPrefix("a_total{") } == 10)
        #expect(lines(metrics).contains("habitstore_metrics_dropped_series_total 15"))
        let gauge = PrometheusMetrics()
        Gauge(label: "a_total", factory: gauge).record(7)
        Counter(label: "a", factory: gauge).increment()
        Metrics.Timer(label: "a", factory: gauge).recordSeconds(1)
        #expect(lines(gauge).filter { $0.hasPrefix("a_total") } == ["a_total 7"])
        #expect(lines(gauge).contains("habitstore_metrics_dropped_series_total 1"))
    }

    @Test func otherFamiliesTakeThePlaceOfThoseOfTheirName() {
        let metrics = PrometheusMetrics()
        Gauge(label: "b", factory: metrics).record(1)
        Gauge(label: "c", factory: metrics).record(2)
        let others = [
            MetricFamily("b", .gauge, help: "B.", [.init(7, [.init("state", "x")])]),
            MetricFamily("a", .gauge, help: "A.", [.init(3)]), MetricFamily("none", .gauge, help: "None.", []),
        ]
        let text = metrics.text(adding: others).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(text == ["a 3", #"b{state="x"} 7"#, "c 2"])
    }

    @Test func nothingIsLostWhenManyThreadsRecord() {
        let metrics = PrometheusMetrics()
        let (threads, rounds) = (8, 2_000)
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for round in 0..<rounds {
                Counter(label: "a", dimensions: [("t", "\(round % 4)")], factory: metrics).increment()
                FloatingPointCounter(label: "p", factory: metrics).increment(by: 0.5)
                let meter = Meter(label: "m", factory: metrics)
                meter.increment(by: 2.0)
                meter.decrement(by: 1.0)
                Metrics.Timer(label: "d", factory: metrics).recordNanoseconds(Int64(thread * 1_000 + round))
                if round % 500 == 0 { _ = metrics.text() }
            }
        }
        let all = Double(threads * rounds)
        func value(_ name: String, _ suffix: String = "") -> Double {
            metrics.families.first { $0.name == name }?.samples.filter { $0.suffix == suffix }.reduce(0) {
                $0 + $1.value
            }
                ?? -1
        }
        #expect(value("a_total") == all)
        #expect(value("p_total") == all / 2)
        #expect(value("m") == all)
        #expect(value("d_seconds", "_count") == all)
    }
}
