import Foundation
import HabitStore
import HabitStoreMetrics
import HabitStoreRollout

/// A fleet's metrics, from its index and files; reads no user's store.
struct FleetMetrics {
    typealias Label = MetricFamily.Label
    typealias Sample = MetricFamily.Sample

    /// The states of a fleet and of a wave.
    static let states = ["planned", "running", "soaking", "waiting", "paused", "halted", "done", "stopped"]
    static let waveStates = ["waiting", "running", "soaking", "done"]
    /// How old writes may be, in seconds, to say anything about now.
    static let writesSeconds = 3_600.0
    private static let unknownStage = "unknown"

    private let status: FleetStatus
    private let index: FleetIndex
    private let lastEvent: Date?
    private let isKillEngaged: Bool

    init(_ status: FleetStatus, _ index: FleetIndex, lastEvent: Date?, isKillEngaged: Bool) {
        (self.status, self.index, self.lastEvent, self.isKillEngaged) = (status, index, lastEvent, isKillEngaged)
    }

    /// The families with their samples.
    ///
    /// - Throws: an error if the index cannot be read.
    func families(now: Date) throws -> [MetricFamily] {
        let figures = try index.figures()
        return [
            try users(),
            MetricFamily(.fleetState, Self.states.map { Sample($0 == status.state ? 1 : 0, [Label("state", $0)]) }),
            MetricFamily(
                .fleetHalted,
                Runbook.Halt.allCases.map {
                    Sample($0 == status.halt ? 1 : 0, [Label("reason", $0.rawValue)])
                }
            ),
            MetricFamily(
                .fleetWaves,
                Self.waveStates.map { state in
                    Sample(Double(status.waves.count { $0.state == state }), [Label("state", state)])
                }
            ),
            try waiting(),
            single(.arrivedUsers, Double(figures.arrived)),
            single(.differentUsers, Double(status.different.count)),
            try evidenceBroken(),
            single(.fleetLag, Double(figures.largestLag)),
            try storeBytes(),
            single(.killEngaged, isKillEngaged ? 1 : 0),
            single(.ledgerDamaged, status.damagedLine == nil ? 0 : 1),
            MetricFamily(.lastEvent, lastEvent.map { [Sample($0.timeIntervalSince1970)] } ?? []),
            try writes(now),
        ]
    }

    private func single(_ metric: MetricDescription, _ value: Double) -> MetricFamily {
        MetricFamily(metric, [Sample(value)])
    }

    private func name(_ wave: Int) -> String {
        status.waves.indices.contains(wave) ? status.waves[wave].name : "\(wave)"
    }

    /// Each wave has all stages, so that no series vanishes when its last user leaves.
    private func users() throws -> MetricFamily {
        var counts: [[String]: Int] = [:]
        for count in try index.counts() {
            counts[[name(count.wave), count.stage?.rawValue ?? Self.unknownStage], default: 0] += count.users
        }
        let samples = status.waves.flatMap { wave in
            (Stage.allCases.map(\.rawValue) + [Self.unknownStage]).map { stage in
                Sample(Double(counts[[wave.name, stage]] ?? 0), [Label("stage", stage), Label("wave", wave.name)])
            }
        }
        return MetricFamily(.users, samples)
    }

    private func storeBytes() throws -> MetricFamily {
        var sums = Array(repeating: 0, count: status.waves.count)
        for count in try index.counts() where sums.indices.contains(count.wave) { sums[count.wave] += count.bytes }
        let samples = zip(status.waves, sums).map { Sample(Double($1), [Label("wave", $0.name)]) }
        return MetricFamily(.fleetStoreBytes, samples)
    }

    // MARK: Why users wait

    private func waiting() throws -> MetricFamily {
        let users = try index.usersByReason()
        // Reasons of the gate appear with 0; others appear with their first user.
        let kinds = Set(GateReason.Kind.allCases.map(\.rawValue)).union(users.keys)
        return MetricFamily(
            .waitingUsers,
            kinds.sorted().map { Sample(Double(users[$0] ?? 0), [Label("reason", $0)]) }
        )
    }

    private func evidenceBroken() throws -> MetricFamily {
        let kinds = [GateReason.Kind.evidenceDamaged, .anchorMissing, .anotherUsersEvidence].map(\.rawValue)
        return single(.evidenceBroken, Double(try index.users(waitingByAnyOf: kinds)))
    }

    // MARK: Writes

    /// The last period of each stage.
    private func writes(_ now: Date) throws -> MetricFamily {
        let known = try index.writes(since: now.addingTimeInterval(-Self.writesSeconds))
        let samples = Stage.allCases.flatMap { stage -> [Sample] in
            guard let last = known.last(where: { $0.stage == stage }) else { return [] }
            return [("50", last.p50Seconds), ("99", last.p99Seconds)].map { percentile, seconds in
                Sample(seconds, [Label("stage", stage.rawValue), Label("percentile", percentile)])
            }
        }
        return MetricFamily(.userWriteDuration, samples)
    }
}

extension Fleet {
    /// The fleet's metrics, from its index and files, for a page or a collector.
    ///
    /// - Throws: an error if these cannot be read; ``HabitStoreError/Code/notFound`` without a fleet.
    public func metrics() throws -> [MetricFamily] {
        let plan = try plan()
        let index = try FleetIndex.open(folder)
        return try FleetMetrics(
            status(by: plan, index),
            index,
            lastEvent: ledger.read().entries.last?.time,
            isKillEngaged: KillSwitch(place).isEngaged
        ).families(now: Date())
    }
}
