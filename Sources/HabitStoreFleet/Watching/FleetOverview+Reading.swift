import Foundation
import HabitStoreRollout

extension FleetOverview {
    /// Collects what is known.
    init(
        _ plan: FleetPlan,
        _ status: FleetStatus,
        _ sums: FleetIndex.Sums,
        _ lag: Lag,
        _ lags: [Lag],
        _ ledger: FleetLedger.Contents,
        _ index: FleetIndex,
        _ signals: FleetSignals,
        _ names: FleetNames,
        lastRehearsal: Rehearsal?
    ) throws {
        self.init(
            state: status.state,
            doing: names.text(try Self.doing(status, index)),
            stop: Self.stop(signals, status.halt, names),
            stage: plan.stage,
            users: status.waves.reduce(0) { $0 + $1.users },
            stages: Self.stages(status),
            waves: try Self.waves(plan, status, sums, ledger.entries, soaked: index.word(SoakClock.word)),
            secondsLeft: status.secondsLeft,
            reasons: try Self.reasons(index),
            different: status.different.count,
            differences: status.different.prefix(FleetWatch.listedDifferences).map { different in
                Difference(
                    user: names.name(of: different.user),
                    stage: different.stage,
                    message: names.text(different.message ?? "", about: different.user)
                )
            },
            writes: try index.writes(since: Date(timeIntervalSinceNow: -FleetWatch.writesSeconds)),
            lag: lag,
            lags: lags,
            slowest: try index.slowest(limit: FleetWatch.listedUsers, names),
            largest: try index.largest(limit: FleetWatch.listedUsers, names),
            lastRehearsal: lastRehearsal,
            lastKill: Self.lastKill(ledger.entries),
            hooks: status.hooks,
            hooksProblem: status.hooksProblem,
            audit: ledger.entries.suffix(FleetWatch.listedLines).reversed().map { entry in
                FleetLedger.Entry(event: names.event(entry.event), sequence: entry.sequence, time: entry.time)
            },
            auditLines: ledger.entries.count,
            damagedLine: ledger.damagedLine
        )
    }

    /// The current activity; ``stop`` says who stopped it.
    private static func doing(_ status: FleetStatus, _ index: FleetIndex) throws -> String {
        switch status.state {
        case "halted", "paused": try index.word("doing") ?? ""
        default: status.doing
        }
    }

    private static func stop(_ signals: FleetSignals, _ kind: Runbook.Halt?, _ names: FleetNames) -> Stop? {
        let halted = signals.halted
        guard let reason = halted ?? signals.paused else { return nil }
        return Stop(
            isHalt: halted != nil,
            by: reason.by,
            because: names.text(reason.because, about: reason.user),
            user: reason.user.map(names.name(of:)),
            kind: halted == nil ? nil : kind
        )
    }

    private static func stages(_ status: FleetStatus) -> [(stage: Stage?, users: Int)] {
        let known = Stage.allCases.map { stage in
            (stage: Stage?.some(stage), users: status.waves.reduce(0) { $0 + ($1.stages[stage] ?? 0) })
        }
        let all = status.waves.reduce(0) { $0 + $1.users }
        return [(stage: nil, users: all - known.reduce(0) { $0 + $1.users })] + known
    }

    private static func waves(
        _ plan: FleetPlan,
        _ status: FleetStatus,
        _ sums: FleetIndex.Sums,
        _ entries: [FleetLedger.Entry],
        soaked: String?
    ) -> [Wave] {
        let clock = FleetClock.machine.read()
        return status.waves.enumerated().map { number, wave in
            let asked = plan.waves.indices.contains(number) ? plan.waves[number] : nil
            let own = sums.waves[number] ?? FleetIndex.WaveSums()
            let begun = entries.last { if case .soakBegan(number, _) = $0.event { true } else { false } }
            // By the same clock as the run, so that setting the wall clock changes nothing.
            let left = begun.map { (asked?.soakSeconds ?? 0) - SoakClock(since: $0, noted: soaked, clock).seconds }
            return Wave(
                name: wave.name,
                state: wave.state,
                users: wave.users,
                arrived: own.arrived,
                soaksUntil: wave.state == "soaking" ? left.map { clock.time.addingTimeInterval($0) } : nil,
                cleanReads: Progress(have: own.cleanReads, need: asked?.cleanShadowReads ?? 0),
                writes: Progress(have: own.writes, need: asked?.writes ?? 0),
                refused: own.refused
            )
        }
    }

    private static func reasons(_ index: FleetIndex) throws -> [Reason] {
        try index.usersByReason().map { Reason(kind: $0.key, users: $0.value) }
            .sorted { ($1.users, $0.kind) < ($0.users, $1.kind) }
    }

    private static func lastKill(_ entries: [FleetLedger.Entry]) -> Landing? {
        for entry in entries.reversed() {
            guard case .killLanded(_, let users, let failed, let seconds) = entry.event else { continue }
            return Landing(time: entry.time, seconds: seconds, users: users, failed: failed)
        }
        return nil
    }
}
