import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout

extension PageModel {
    static func rows(_ fleet: FleetOverview, _ clock: Clock) -> [WaveRow] {
        fleet.waves.enumerated().map { number, wave in
            let (state, stateClass) = stateWords(wave)
            return WaveRow(
                number: "\(number + 1)",
                name: wave.name,
                state: state,
                stateClass: stateClass,
                users: FleetOverview.grouped(wave.users),
                arrived: wave.users == 0
                    ? "–"
                    : "\(FleetOverview.grouped(wave.arrived)) (\(percent(Double(wave.arrived) / Double(wave.users))))",
                cleanReads: progress(wave.cleanReads),
                writes: progress(wave.writes),
                refused: wave.refused == 0 ? "–" : FleetOverview.grouped(wave.refused),
                soak: soak(wave, clock),
                isCurrent: number == fleet.current?.number && wave.state != "done"
            )
        }
    }

    private static func stateWords(_ wave: FleetOverview.Wave) -> (String, String) {
        switch wave.state {
        case "done": ("done", "good")
        case "soaking": ("soaking", "good")
        case "running": ("being moved", "warn")
        default: ("not started", "plain")
        }
    }

    private static func progress(_ progress: FleetOverview.Progress) -> String {
        guard progress.need > 0 else { return progress.have > 0 ? FleetOverview.short(progress.have) : "–" }
        return "\(FleetOverview.short(progress.have)) of \(FleetOverview.grouped(progress.need))"
    }

    private static func soak(_ wave: FleetOverview.Wave, _ clock: Clock) -> String {
        guard let end = wave.soaksUntil else { return wave.state == "done" ? "over" : "–" }
        let left = end.timeIntervalSince(clock.now)
        return left > 0 ? "\(Clock.length(left)), until \(clock.time(end))" : "over since \(clock.time(end))"
    }

    /// The runbook's entry for a reason.
    ///
    /// - Parameter user: the user whom it is about; nil for several.
    static func row(_ kind: String, users: Int, _ subject: PageSubject, user: String? = nil) -> ReasonRow {
        let entry = Runbook.entry(kind)
        return ReasonRow(
            users: FleetOverview.grouped(users),
            kind: kind,
            symptom: subject.filled(Piece.pieces(entry?.symptom ?? "an error of this kind"), user: user),
            meaning: subject.filled(
                Piece.pieces(entry?.meaning ?? "An attempt to move the user failed; the doctor says why."),
                user: user
            ),
            command: subject.filled(
                entry?.command ?? "\(OperatorCommand.name) rollout doctor --root ROOT --user USER",
                user: user
            ),
            check: subject.filled(Piece.pieces(entry?.check ?? ""), user: user)
        )
    }

    static func row(_ difference: FleetOverview.Difference, _ subject: PageSubject) -> DifferenceRow {
        DifferenceRow(
            user: difference.user,
            stage: difference.stage?.rawValue ?? "–",
            message: subject.filled(message: difference.message, user: difference.user),
            replay: subject.filled(
                "\(OperatorCommand.name) verify --root ROOT --user USER --record FILE; \(OperatorCommand.name) verify list --from FILE; "
                    + "\(OperatorCommand.name) verify replay ID --from FILE",
                user: difference.user
            ),
            help: subject.filled(
                "\(OperatorCommand.name) rollout resync --root ROOT --user USER --because TEXT",
                user: difference.user
            )
        )
    }

    /// The medians of both sides over the last day, and how they compare.
    static func figures(_ plot: Plot) -> [Figure] {
        guard !plot.isEmpty else { return [] }
        func row(_ what: String, _ value: (Plot.Point) -> Double) -> Figure {
            let (old, new) = (Self.median(plot.old.map(value)), Self.median(plot.new.map(value)))
            let change = old.flatMap { old in
                new.flatMap { old > 0 ? ($0 / old - 1) * 100 : nil }
            }
            return Figure(
                what: what,
                old: old.map(Clock.latency) ?? "–",
                new: new.map(Clock.latency) ?? "–",
                change: change.map { "\(Clock.rounded(abs($0), 0)) % \($0 > 0 ? "slower" : "faster")" } ?? "–"
            )
        }
        return [row("p50", \.p50), row("p99", \.p99)]
    }

    private static func median(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        return values.sorted()[values.count / 2]
    }

    static func words(_ lag: FleetOverview.Lag) -> String {
        guard lag.users > 0 else { return "No new store lags." }
        return "\(FleetOverview.counted(lag.users, "new store")) \(lag.users == 1 ? "lags" : "lag") by "
            + "\(FleetOverview.counted(lag.transactions, "transaction")) in total, \(FleetOverview.grouped(lag.most)) at most."
    }

    static func facts(_ kill: KillSwitch.State, _ fleet: FleetOverview?, _ clock: Clock) -> [Fact] {
        var facts = [
            Fact(
                name: "Sentinel file",
                value: kill.isSentinelThere ? "present: everybody is taken back" : "absent",
                isBad: kill.isSentinelThere
            ),
            Fact(
                name: "Kill flag",
                value: kill.isFlagPulled.map { $0 ? "true: everybody is taken back" : "not set" }
                    ?? "there is no flag file",
                isBad: kill.isFlagPulled == true
            ),
            Fact(
                name: "Latch",
                value: kill.isLatched
                    ? "pulled for everybody and not re-armed" + (kill.trigger.map { " (\($0))" } ?? "") : "armed",
                isBad: kill.isLatched
            ),
        ]
        facts += kill.notes.map { Fact(name: "Flag file", value: $0, isBad: true) }
        guard let fleet else { return facts }
        let rehearsal = fleet.lastRehearsal.map { last in
            "\(clock.time(last.time)), " + (last.isClean ? "went well" : "FAILED")
        }
        facts.append(
            Fact(
                name: "Last rehearsal of the way back",
                value: rehearsal ?? "not known",
                isBad: fleet.lastRehearsal?.isClean == false
            )
        )
        let landing = fleet.lastKill.map { last in
            "\(clock.time(last.time)): \(Clock.length(last.seconds)) for \(FleetOverview.counted(last.users, "user"))"
                + (last.failed > 0 ? ", \(FleetOverview.grouped(last.failed)) could not be taken back" : "")
        }
        facts.append(
            Fact(name: "Last kill by rollout kill", value: landing ?? "none", isBad: (fleet.lastKill?.failed ?? 0) > 0)
        )
        return facts
    }

    static func row(_ user: FleetOverview.User, _ fleet: FleetOverview, _ clock: Clock) -> UserRow {
        UserRow(
            user: user.user,
            wave: fleet.waves.indices.contains(user.wave) ? fleet.waves[user.wave].name : "\(user.wave + 1)",
            stage: user.stage?.rawValue ?? "not started",
            size: Clock.size(user.bytes),
            since: user.since.map { Clock.length(clock.now.timeIntervalSince($0)) } ?? "–",
            reasons: user.reasons.isEmpty ? "–" : user.reasons.joined(separator: ", ")
        )
    }

    static func row(_ entry: FleetLedger.Entry, _ clock: Clock) -> AuditRow {
        let (what, details) = entry.event.words
        let isBad =
            switch entry.event {
            case .halted, .killed, .killLanded: true
            default: false
            }
        return AuditRow(
            number: "\(entry.sequence)",
            time: clock.second(entry.time),
            precise: clock.precise(entry.time),
            what: what,
            details: details,
            isBad: isBad
        )
    }
}
