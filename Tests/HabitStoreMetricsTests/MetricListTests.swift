import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines
import Testing

@testable import HabitStoreMetrics

/// The list of metrics, against Prometheus' rules, the article and the recorded metrics.
struct MetricListTests {
    /// Whether to rewrite the article's tables: run this suite with `HABITSTORE_METRICS=1`.
    private static let isRewritten = ProcessInfo.processInfo.environment["HABITSTORE_METRICS"] != nil
    private static let article = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/HabitStoreMetrics/Documentation.docc/Metrics.md")

    @Test(arguments: MetricDescription.all.map(\.name))
    func aNameFollowsTheRules(name: String) throws {
        let metric = try #require(MetricDescription.named(name))
        #expect(MetricName.metric(name) == name)
        #expect(name.hasPrefix("habitstore_"))
        #expect(name.hasSuffix("_total") == (metric.kind == .counter))
        #expect(metric.kind != .histogram || name.hasSuffix("_seconds"))
        #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"))
        for unit in ["milliseconds", "micros", "minutes", "hours", "kib", "mib", "percent_"] {
            #expect(!name.contains(unit))
        }
        for label in metric.labels {
            #expect(MetricName.label(label) == label)
            #expect(!["user", "user_id", "id", "le", "quantile"].contains(label))
        }
    }

    @Test func noTwoMetricsHaveOneName() {
        #expect(Set(MetricDescription.all.map(\.name)).count == MetricDescription.all.count)
    }

    /// A list written by hand is incomplete.
    @Test func theArticleListsWhatThereIs() throws {
        var text = try String(contentsOf: Self.article, encoding: .utf8)
        var sections: [(title: String, origin: MetricDescription.Origin)] = []
        for origin in MetricDescription.Origin.allCases {
            let title =
                switch origin {
                case .rollout: "## Of a process that has users' stores open\n\n"
                case .flags: "## Of a process that follows flag files\n\n"
                case .fleet: "## Of a fleet\n\n"
                case .launches: "## Of first launches\n\n"
                case .metrics: "## Of the metrics themselves\n\n"
                }
            sections.append((title, origin))
        }
        for (title, origin) in sections {
            let start = try #require(text.firstRange(of: title)).upperBound
            let end = text[start...].firstRange(of: "\n\n## ")?.lowerBound ?? text.lastIndex(of: "\n") ?? text.endIndex
            let table = MetricDescription.table(origin)
            if Self.isRewritten {
                text.replaceSubrange(start..<end, with: table)
            } else {
                #expect(text[start..<end] == table, "write it anew with HABITSTORE_METRICS=1")
            }
        }
        if Self.isRewritten { try Data(text.utf8).write(to: Self.article) }
    }
}
