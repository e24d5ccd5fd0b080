import Foundation
@_spi(Engines) import HabitStore
import HabitStoreMetrics
import HabitStoreRollout
import HabitTracker
import Metrics
import RolloutTesting
import StandardEngines
import Testing

/// The metrics of a rollout, by the names that dashboards and alerts use.
@Suite(.timeLimit(.minutes(5)))
struct RolloutMetricsTests {
    private let metrics = PrometheusMetrics()
    private let user: StagedUser

    init() throws { user = try StagedUser(EnginePair(old: .sqlite, new: .lmdb), .standard) }

    /// The sum of a metric's samples with these labels.
    private func value(_ name: String, _ labels: [String: String] = [:], suffix: String = "") -> Double? {
        let samples = metrics.families.first { $0.name == "habitstore_" + name }?.samples.filter { sample in
            let own = Dictionary(sample.labels.map { ($0.name, $0.value) }) { first, _ in first }
            return sample.suffix == suffix && labels.allSatisfy { own[$0] == $1 }
        }
        guard let samples, !samples.isEmpty else { return nil }
        return samples.reduce(0) { $0 + $1.value }
    }

    private func stores(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStores {
        try withMetricsFactory(metrics) { try user.stores(change) }
    }

    @Test func aRolloutFromOffToCompleteAndAKillAreCounted() throws {
        let stores = try stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.insert((0..<20).map { Habit(name: "Habit \($0)") })
        #expect(value("gate_refusals_total", ["reason": "rollbackNotRehearsed"]) == 0)
        #expect(value("demotions_total", ["cause": "killed"]) == 0)
        try user.bring(store, to: .complete)

        #expect(value("promotions_total", ["outcome": "promoted"]) == 5)
        #expect(value("promotions_total", ["outcome": "failed"]) == 0)
        #expect(value("stage_changes_total", ["from": "shadow", "to": "live"]) == 1)
        #expect(value("backfilled_records_total").map { $0 >= 20 } == true)
        #expect(value("verifications_total", ["verdict": "match"]).map { $0 >= 3 } == true)
        #expect(value("verifications_total", ["verdict": "mismatch"]) == 0)
        #expect(value("verified_records_total").map { $0 >= 60 } == true)
        #expect(value("verification_duration_seconds", suffix: "_count").map { $0 >= 3 } == true)
        #expect(value("verification_duration_seconds", ["le": "14400"], suffix: "_bucket").map { $0 >= 3 } == true)
        #expect(value("rehearsals_total", ["outcome": "clean"]) == 1)
        let rehearsed = try #require(value("last_rehearsal_timestamp_seconds"))
        #expect(abs(Date().timeIntervalSince1970 - rehearsed) < 300)
        #expect(value("shadow_reads_total", ["verdict": "match"]).map { $0 >= 3 } == true)
        #expect(value("differences_total") == 0)
        let writes = value("operation_duration_seconds", ["engine": "sqlite", "operation": "write"], suffix: "_count")
        #expect(writes == 1)
        #expect(value("mirror_lag_transactions") == 0)
        #expect(value("lagging_users") == 0)
        #expect(value("open_users") == 1)

        let sentinel = RolloutFlags.sentinelPath(root: user.root)
        #expect(value("kill_engaged") == 0)
        try Data().write(to: URL(fileURLWithPath: sentinel))
        store.reloadFlags()
        #expect(value("kill_engaged") == 1)
        #expect(value("kill_sentinel_present") == 1)
        #expect(try store.applyKill())
        #expect(value("kills_total") == 1)
        #expect(value("demotions_total", ["cause": "killed"]) == 1)
        try FileManager.default.removeItem(atPath: sentinel)
        store.reloadFlags()
        // The kill is remembered until someone re-arms.
        #expect(value("kill_engaged") == 1)
        try stores.rearmRoot()
        #expect(value("kill_engaged") == 0)
    }

    @Test func aRefusalIsCountedByEachOfItsReasons() throws {
        let store = try stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .shadow)
        try user.want("live")
        store.reloadFlags()
        let decision = try store.promote(to: .live)
        let kinds = Set(decision.reasons.map(\.kind))
        try #require(kinds.isSuperset(of: ["verificationMissing", "rollbackNotRehearsed", "selfComparisonMissing"]))
        #expect(value("promotions_total", ["outcome": "refused"]) == 1)
        // Each store lacks a comparison with itself, which is one kind of reason.
        #expect(value("gate_refusals_total") == Double(kinds.count))
        for kind in kinds { #expect(value("gate_refusals_total", ["reason": kind]) == 1) }
    }

    @Test func aDifferenceIsCountedByWhatHasFoundIt() throws {
        let store = try stores().store(for: "alice")
        defer { store.close() }
        let habit = Habit(name: "Run")
        try store.save(habit)
        try user.bring(store, to: .shadow)
        try user.withStore(.new, .readWrite) { lmdb in
            try lmdb.replicate { replica in
                try replica.remove(entity: lmdb.schema.position(ofEntity: "Habit"), id: habit.id)
            }
        }
        let report = try store.verify()
        #expect(report.openDifferenceCount > 0)
        #expect(value("differences_total", ["found_by": "verification"]) == Double(report.openDifferenceCount))
        #expect(value("verifications_total", ["verdict": "mismatch"]) == 1)
    }

    @Test func answersOfLiveQueriesAreCountedByHowTheyCameAbout() async throws {
        let store = try await stores().store(for: "alice")
        defer { store.close() }
        try await store.save(Habit(name: "Run"))
        var answers = store.results(of: FetchDescriptor<Habit>()).makeAsyncIterator()
        #expect(try await answers.next()?.records.count == 1)
        #expect(value("live_query_answers_total", ["answer": "asked"]) == 1)
        #expect(value("live_query_answers_total", ["answer": "patched"]) == 0)
        try await store.save(Habit(name: "Read"))
        #expect(try await answers.next()?.records.count == 2)
        #expect(value("live_query_answers_total", ["answer": "patched"]) == 1)
        #expect(value("live_query_differences_total") == 0)
    }

    /// Two named stores of one process wrote the same gauge, and one cleared the other's kill.
    @Test func storesOfOneProcessAreToldApart() throws {
        let unnamed = try stores()
        let notes = try withMetricsFactory(metrics) {
            // Like the others: a background check of the flags would write the gauge, too.
            var options = RolloutOptions()
            (options.followsFlags, options.advancesByItself) = (false, false)
            return try UserStores(
                root: user.root,
                store: "notes",
                flags: nil,
                engines: user.engines,
                schema: HabitSchema.current,
                options: options
            )
        }
        let opened = try [unnamed.store(for: "alice"), notes.store(for: "alice"), notes.store(for: "bob")]
        defer { for store in opened { store.close() } }
        for store in opened { try store.save(Habit(name: "Run")) }
        #expect(value("open_users", ["store": "notes"]) == 2)
        #expect(value("open_users") == 3)

        try Data().write(to: URL(fileURLWithPath: RolloutFlags.sentinelPath(root: user.root + "/stores/notes")))
        for store in opened { store.reloadFlags() }
        #expect(value("kill_engaged", ["store": "notes"]) == 1)
        #expect(value("kill_engaged") == 1, "and nothing of the store without a name")
    }

    /// A metric that nothing records is an empty panel; one that the list lacks has no alert.
    @Test func whatIsRecordedIsWhatTheListSays() throws {
        let stores = try stores()
        let store = try stores.store(for: "alice")
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .dualwrite)
        store.close()
        let families = metrics.families
        for family in families {
            let metric = try #require(MetricDescription.named(family.name), "\(family.name) is not on the list")
            #expect(family.kind == metric.kind && family.help == metric.help, "\(family.name)")
            for sample in family.samples {
                let labels = sample.labels.map(\.name).filter { $0 != "le" }
                #expect(Set(labels) == Set(metric.labels), "\(family.name)")
                #expect(!sample.labels.contains { $0.value == "alice" }, "\(family.name) names the user")
            }
        }
        // Each metric exists from the start, whatever records it.
        let recorded = Set(families.map(\.name))
        let expected = MetricDescription.all.filter { $0.origin == .rollout || $0.origin == .flags }.map(\.name)
        #expect(Set(expected).subtracting(recorded) == [])
    }

    /// The lag of users' mirrors was that of the last active user: thousands of lagging users showed as 0.
    @Test func theLagIsThatOfAllOpenUsersTogether() throws {
        // A mirror that cannot be written: a folder is at its file's path.
        let stores = try stores { $0.mirror.waitSeconds = 0 }
        try user.want("dualwrite")
        stores.reloadFlags()
        var opened: [UserStore] = []
        for name in ["berta", "carl"] {
            let store = try stores.store(for: name)
            try store.save(Habit(name: "Run"))
            let folder = try UserDirectory(root: user.root, user: name).path
            try FileManager.default.createDirectory(
                atPath: user.engines.address(.lmdb, ofUser: name, inFolder: folder).path,
                withIntermediateDirectories: true
            )
            _ = try store.advance(to: .dualwrite)
            for number in 0..<3 { try store.save(Habit(name: "Habit \(number)")) }
            _ = store.waitUntilMirrorIsIdle(waitSeconds: 5)
            opened.append(store)
        }
        #expect(value("lagging_users") == 2)
        #expect(value("mirror_lag_transactions").map { $0 >= 8 } == true)
        opened[0].close()
        #expect(value("lagging_users") == 1)
        opened[1].close()
        #expect(value("lagging_users") == 0)
        #expect(value("mirror_lag_transactions") == 0)
    }
}
