import Foundation
import MetricsTestKit
import Testing

@testable import FeatureFlags

/// A provider's metrics, by the names that dashboards use.
@Suite struct MetricsTests {
    private struct Readings: Equatable {
        var changed: Int64
        var unchanged: Int64
        var failed: Int64
        var quarantined: Double
        var stale: Double
        var sentinel: Double
    }

    private func readings(_ metrics: TestMetrics) throws -> Readings {
        func reloads(_ result: String) throws -> Int64 {
            try metrics.expectCounter("habitstore_flag_reloads_total", [("result", result)]).totalValue
        }
        func gauge(_ label: String) throws -> Double { try #require(try metrics.expectGauge(label).lastValue) }
        let readings = Readings(
            changed: try reloads("changed"),
            unchanged: try reloads("unchanged"),
            failed: try reloads("failed"),
            quarantined: try gauge("habitstore_flags_quarantined"),
            stale: try gauge("habitstore_flag_sources_stale"),
            sentinel: try gauge("habitstore_kill_sentinel_present")
        )
        let durations = try metrics.expectTimer("habitstore_flag_reload_duration_seconds").values
        #expect(durations.count == Int(readings.changed + readings.unchanged + readings.failed))
        #expect(durations.allSatisfy { $0 > 0 })
        return readings
    }

    @Test func eachReadingIsCountedAndTheGaugesSayHowThingsStand() throws {
        try withTemporaryDirectory { directory in
            let (file, sentinel) = (
                directory.appendingPathComponent("f.json"), directory.appendingPathComponent("KILL")
            )
            let metrics = TestMetrics()
            let provider = try FlagProvider(
                sources: [FlagSource(path: file.path)],
                killSwitch: KillSwitchTriggers(sentinelPath: sentinel.path),
                logger: silentLogger,
                metrics: metrics
            )
            var expected = Readings(changed: 0, unchanged: 0, failed: 1, quarantined: 0, stale: 1, sentinel: 0)
            #expect(try readings(metrics) == expected)

            try write(#"{"flags": {"a": {}, "b": {"state": "DISABLED", "variants": {"v": 1}}, "c": 5}}"#, to: file)
            provider.reload()
            (expected.changed, expected.quarantined, expected.stale) = (1, 2, 0)
            #expect(try readings(metrics) == expected)

            provider.reload()
            expected.unchanged = 1
            #expect(try readings(metrics) == expected)

            try write("{", to: file)
            try write("", to: sentinel)
            provider.reload()
            (expected.failed, expected.stale, expected.sentinel) = (2, 1, 1)
            #expect(try readings(metrics) == expected)

            provider.reload()
            expected.failed = 3
            #expect(try readings(metrics) == expected)

            try write(flagFile("good"), to: file)
            try FileManager.default.removeItem(at: sentinel)
            provider.reload()
            (expected.changed, expected.quarantined, expected.stale, expected.sentinel) = (2, 0, 0, 0)
            #expect(try readings(metrics) == expected)
        }
    }

    @Test func aSentinelThatIsThereFromTheStartShows() throws {
        try withTemporaryDirectory { directory in
            let sentinel = directory.appendingPathComponent("KILL")
            try write("", to: sentinel)
            let metrics = TestMetrics()
            _ = try FlagProvider(
                sources: [],
                killSwitch: KillSwitchTriggers(sentinelPath: sentinel.path),
                logger: silentLogger,
                metrics: metrics
            )
            #expect(try metrics.expectGauge("habitstore_kill_sentinel_present").lastValue == 1)
        }
    }
}
