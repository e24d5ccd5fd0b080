import Foundation
import HabitStoreRollout
import Testing

@testable import HabitStoreMetrics

/// The alert rules, against the metrics, the runbook and Prometheus' own checks.
struct AlertRuleTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Alerts")
    private static let rulesName = "habitstore.rules.yml"
    private static let testNames = ["habitstore.rules.test.yml", "habitstore.week.test.yml"]

    private func text(_ name: String) throws -> String {
        try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// A rule over a renamed metric is silent forever, as if all was well.
    @Test func rulesAskForMetricsThatThereAre() throws {
        for name in [Self.rulesName] + Self.testNames {
            let found = Set(try text(name).matches(of: /habitstore_[a-z_]+/).map { String($0.0) })
            try #require(!found.isEmpty)
            for metric in found { #expect(MetricDescription.named(metric) != nil, "\(name): \(metric)") }
        }
    }

    @Test func labelsInRulesAreThoseOfTheirMetrics() throws {
        let selectors = try text(Self.rulesName).matches(of: /(habitstore_[a-z_]+)\{([^}]*)\}/)
        try #require(!selectors.isEmpty)
        for selector in selectors {
            let metric = try #require(MetricDescription.named(String(selector.1)))
            for label in selector.2.matches(of: /([a-z_]+)(=|!=|=~|!~)"/) {
                #expect(metric.labels.contains(String(label.1)), "\(selector.0)")
            }
        }
    }

    @Test func reasonsThatRulesLeaveOutAreReasonsOfTheGate() throws {
        let lists = try text(Self.rulesName).matches(of: /reason!~"([^"]*)"/)
        try #require(!lists.isEmpty)
        for list in lists {
            for kind in list.1.split(separator: "|") {
                #expect(GateReason.Kind(rawValue: String(kind)) != nil, "\(kind)")
            }
        }
    }

    @Test func entriesOfTheRunbookThatAreNamedAreThere() throws {
        let named = try text(Self.rulesName).matches(of: /habitstore rollout runbook (\w+)`/)
        try #require(!named.isEmpty)
        for match in named { #expect(Runbook.entry(String(match.1)) != nil, "\(match.1)") }
    }

    @Test func eachAlertHasATest() throws {
        let alerts = try text(Self.rulesName).matches(of: /- alert: (\w+)/).map { String($0.1) }
        let tests = try Self.testNames.map(text).joined()
        #expect(Set(alerts).count == alerts.count)
        for alert in alerts { #expect(tests.contains("alertname: \(alert)\n"), "\(alert)") }
    }

    @Test(.enabled(if: Promtool.isThere)) func promtoolTakesTheRulesAndTheirTests() throws {
        let checked = try Promtool.run(["check", "rules", Self.folder.appendingPathComponent(Self.rulesName).path])
        #expect(checked.status == 0 && checked.output.contains("SUCCESS"), "\(checked.output)")
        let tests = Self.testNames.map { Self.folder.appendingPathComponent($0).path }
        let tested = try Promtool.run(["test", "rules"] + tests)
        #expect(tested.status == 0 && tested.output.contains("SUCCESS"), "\(tested.output)")
    }
}
