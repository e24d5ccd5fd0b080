import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreMetrics
import HabitStoreRollout
import HabitTracker
import Metrics
import RolloutTesting
import StandardEngines
import Testing

/// A fleet's metrics, from its index and files.
@Suite(.timeLimit(.minutes(5)))
struct FleetMetricsTests {
    private let user: StagedUser
    private var fleet: Fleet { Fleet(root: user.root) }

    private func stores() throws -> UserStores { try user.stores { $0.gate.cleanShadowReads = 0 } }

    init() throws {
        user = try StagedUser(EnginePair(old: .sqlite, new: .lmdb), .standard)
        let stores = try stores()
        for number in 0..<3 {
            let store = try stores.store(for: "user-\(number)")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
        }
        try user.want("complete")
        let text = Data(
            #"{"waves": [{"name": "a \"first\"", "users": 1}, {"name": "all", "percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
                .utf8
        )
        let path = user.folder.path("plan.json")
        try text.write(to: URL(fileURLWithPath: path))
        let plan = try #require(try FleetPlanReader.read(path: path).plan)
        let users = try self.stores().users().users.map { (user: $0, bytes: 100) }
        _ = try fleet.draw(plan, text: text, isYAML: false, users, by: "a test")
    }

    private func value(_ name: String, _ labels: [String: String] = [:]) throws -> Double? {
        let samples = try fleet.metrics().first { $0.name == "habitstore_" + name }?.samples.filter { sample in
            labels.allSatisfy { label in sample.labels.contains { $0.name == label.key && $0.value == label.value } }
        }
        guard let samples, !samples.isEmpty else { return nil }
        return samples.reduce(0) { $0 + $1.value }
    }

    @Test func aFleetsFiguresAreThoseOfItsIndex() throws {
        #expect(try value("fleet_state", ["state": "planned"]) == 1)
        #expect(try value("fleet_state") == 1)
        #expect(try value("users", ["stage": "unknown", "wave": "a \"first\""]) == 1)
        #expect(try value("users", ["stage": "unknown", "wave": "all"]) == 2)
        #expect(try value("fleet_store_bytes") == 300)
        #expect(try value("arrived_users") == 0)
        #expect(try value("fleet_halted") == 0)
        #expect(try value("fleet_waves", ["state": "waiting"]) == 2)

        #expect(try fleet.run(stores(), by: "a test", pressure: { nil }) { _ in } == .done(passedOver: 0))
        #expect(try value("fleet_state", ["state": "done"]) == 1)
        #expect(try value("users", ["stage": "complete"]) == 3)
        #expect(try value("users") == 3)
        #expect(try value("arrived_users") == 3)
        #expect(try value("fleet_waves", ["state": "done"]) == 2)
        #expect(try value("waiting_users", ["reason": "rollbackNotRehearsed"]) == 0)
        #expect(try value("different_users") == 0)
        #expect(try value("evidence_broken") == 0)
        #expect(try value("fleet_ledger_damaged") == 0)
        let last = try #require(try value("fleet_last_event_timestamp_seconds"))
        #expect(abs(Date().timeIntervalSince1970 - last) < 300)

        try fleet.halt(by: "a test", because: "lunch")
        #expect(try value("fleet_state", ["state": "halted"]) == 1)
        #expect(try value("fleet_halted", ["reason": "haltedByPerson"]) == 1)
        #expect(try value("fleet_halted") == 1)
        #expect(try value("kill_engaged") == 0)
        try Data().write(to: URL(fileURLWithPath: RolloutFlags.sentinelPath(root: user.root)))
        #expect(try value("kill_engaged") == 1)
        let text = try String(contentsOfFile: fleet.ledger.path, encoding: .utf8)
        try text.replacing("lunch", with: "munch").write(toFile: fleet.ledger.path, atomically: false, encoding: .utf8)
        #expect(try value("fleet_ledger_damaged") == 1)
    }

    /// A user whose stores differ closes the gate; the reasons are those of the index.
    @Test func whoWaitsIsCountedUnderEachReason() throws {
        let stores = try user.stores { $0.gate.cleanShadowReads = 5 }
        for number in 0..<3 {
            let store = try stores.store(for: "user-\(number)")
            defer { store.close() }
            _ = try store.advance(to: .complete)
        }
        // The fleet waits for reads that never happen, and is halted.
        let fleet = fleet
        _ = try fleet.run(stores, by: "a test", pressure: { nil }) { line in
            if line.contains("waits") { _ = try? fleet.halt(by: "a test", because: "enough seen") }
        }
        #expect(try value("waiting_users", ["reason": "tooFewShadowReads"]) == 1)
        let waiting = try #require(try fleet.metrics().first { $0.name == "habitstore_waiting_users" })
        #expect(waiting.samples.allSatisfy { $0.value <= 1 }, "one user waits, by however many reasons")
        #expect(try value("users", ["stage": "shadow", "wave": "a \"first\""]) == 1)
    }

    @Test func metricsOfAFleetAreOnTheList() throws {
        _ = try fleet.run(stores(), by: "a test", pressure: { nil }) { _ in }
        let families = try fleet.metrics()
        for family in families {
            let metric = try #require(MetricDescription.named(family.name), "\(family.name) is not on the list")
            #expect(family.kind == metric.kind && family.help == metric.help)
            for sample in family.samples {
                #expect(Set(sample.labels.map(\.name)) == Set(metric.labels), "\(family.name)")
                #expect(!sample.labels.contains { $0.value.hasPrefix("user-") }, "\(family.name) names a user")
            }
        }
        let listed = MetricDescription.all.filter { $0.origin == .fleet }.map(\.name)
        #expect(Set(listed).subtracting(families.map(\.name)) == [])
    }

    @Test func withoutAFleetThatIsOneLine() {
        #expect { try Fleet(root: user.root + "-misspelt").metrics() } throws: {
            "\($0)".contains("there is no plan here")
        }
    }

    /// Metrics of a process and a fleet appear once, and Prometheus' own program accepts all of them.
    @Test(.enabled(if: Promtool.isThere)) func promtoolTakesAProcessAndAFleetTogether() throws {
        let metrics = PrometheusMetrics()
        let recorded = try withMetricsFactory(metrics) { try stores() }
        let store = try recorded.store(for: "user-0")
        try store.save(Habit(name: "Read"))
        _ = try store.advance(to: .complete)
        store.close()
        Metrics.Counter(label: "http.requests", dimensions: [("path", "/\"\\\n")], factory: metrics).increment()
        _ = try fleet.run(recorded, by: "a test", pressure: { nil }) { _ in }
        let text = metrics.text(adding: try fleet.metrics())
        #expect(text.split(separator: "\n").count { $0.hasPrefix("# TYPE habitstore_kill_engaged ") } == 1)
        #expect(try Promtool.objections(to: text) == "")
        #expect(try Promtool.objections(to: MetricFamily.text(fleet.metrics())) == "")
        // It does object to an error.
        #expect(try Promtool.objections(to: text + "habitstore_kill_engaged{ 1\n") != "")
    }
}
