import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout

extension PageModel {
    /// Describes a snapshot in words.
    init(_ snapshot: FleetSnapshot, _ subject: PageSubject, _ clock: Clock) {
        let engine = Self.engineName(snapshot.newEngine)
        switch snapshot.fleet {
        case .success(let fleet): self.init(fleet, snapshot.killSwitch, subject, engine: engine, clock)
        case .failure(let error):
            self.init(problem: error.description, snapshot.killSwitch, clock)
        }
    }

    private init(
        _ fleet: FleetOverview,
        _ kill: KillSwitch.State,
        _ subject: PageSubject,
        engine: String,
        _ clock: Clock
    ) {
        (state, stateClass) = Self.stateWords(fleet)
        let user = fleet.stop?.user
        sentence = subject.filled(message: fleet.sentence(engine: engine) { clock.time($0) }, user: user)
        details = Self.details(fleet, subject).map(Line.init)
        halt = fleet.stop?.kind.map { Self.row($0.rawValue, users: fleet.users, subject, user: user) }
        problem = []
        self.kill = Self.killBanner(kill, clock)
        stages = Self.shares(fleet)
        waves = Self.rows(fleet, clock)
        reasons = fleet.reasons.map { Self.row($0.kind, users: $0.users, subject) }
        differences = fleet.differences.prefix(Self.shownDifferences).map { Self.row($0, subject) }
        let more = fleet.different - differences.count
        moreDifferences = more > 0 ? FleetOverview.counted(more, "more user") : nil
        let plot = Plot(fleet.writes, clock)
        figures = Self.figures(plot)
        plots = [
            plot.svg(width: 860, height: 260, className: "wide"),
            plot.svg(width: 380, height: 240, className: "narrow"),
        ]
        .filter { !$0.isEmpty }
        lag = Self.words(fleet.lag)
        let lagPlot = LagPlot(lags: fleet.lags, clock: clock)
        lagPlots = [
            lagPlot.svg(width: 860, height: 110, className: "wide"),
            lagPlot.svg(width: 380, height: 110, className: "narrow"),
        ].filter { !$0.isEmpty }
        killFacts = Self.facts(kill, fleet, clock)
        slowest = fleet.slowest.map { Self.row($0, fleet, clock) }
        largest = fleet.largest.map { Self.row($0, fleet, clock) }
        audit = fleet.audit.map { Self.row($0, clock) }
        isAuditDamaged = fleet.damagedLine != nil
        auditState =
            fleet.damagedLine.map {
                "DAMAGED in line \($0): it was changed or cut off, so no run continues"
            }
            ?? "\(FleetOverview.counted(fleet.auditLines, "line")), each with the hash of the one before: whole"
    }

    /// How many differences are listed.
    private static let shownDifferences = 100

    /// If the fleet cannot be read, only the kill switch is shown, which needs no fleet.
    private init(problem: String, _ kill: KillSwitch.State, _ clock: Clock) {
        self.problem = Piece.pieces(problem)
        (state, stateClass) = ("Unknown", "bad")
        sentence = "The fleet cannot be read; the kill switch below works without it."
        (details, halt) = ([], nil)
        self.kill = Self.killBanner(kill, clock)
        (stages, waves, reasons) = ([], [], [])
        (differences, moreDifferences, figures, plots, lag, lagPlots) = ([], nil, [], [], "", [])
        killFacts = Self.facts(kill, nil, clock)
        (slowest, largest, audit) = ([], [], [])
        (auditState, isAuditDamaged) = ("", false)
    }

    /// The name of an engine; LMDB, where users go, if the flags name none.
    private static func engineName(_ name: String?) -> String {
        let known = ["lmdb": "LMDB", "sqlite": "SQLite", "postgres": "PostgreSQL"]
        return known[name ?? "lmdb"] ?? name ?? ""
    }

    private static func stateWords(_ fleet: FleetOverview) -> (String, String) {
        if let stop = fleet.stop { return stop.isHalt ? ("Halted", "bad") : ("Paused", "warn") }
        switch fleet.state {
        case "running": return ("Running", "good")
        case "soaking": return ("Soaking", "good")
        case "waiting": return ("Waiting", "warn")
        case "done": return ("Done", "good")
        case "planned": return ("Planned", "plain")
        case "stopped": return ("Not running", "warn")
        default: return (fleet.state, "plain")
        }
    }

    private static func details(_ fleet: FleetOverview, _ subject: PageSubject) -> [String] {
        var lines: [String] = []
        switch fleet.state {
        // The runbook says what to do about a halt.
        case "halted": break
        case "paused": lines.append("No new users are started; those in progress are finished.")
        case "planned", "stopped":
            let command = subject.filled("\(OperatorCommand.name) fleet run --root ROOT")
            lines.append("`\(command)` \(fleet.state == "planned" ? "starts" : "continues") the fleet.")
        case "running", "soaking": break
        default: if !fleet.doing.isEmpty { lines.append(fleet.doing) }
        }
        for hook in fleet.hooks {
            guard let failure = hook.failure else { continue }
            lines.append(
                "The hook \(hook.name) is owed \(FleetOverview.counted(hook.owed, "line")): it \(failure)."
            )
        }
        if let problem = fleet.hooksProblem { lines.append("The hooks' progress cannot be read: \(problem)") }
        if let left = fleet.secondsLeft {
            lines.append(
                "At the pace of the last hour \(Clock.length(left.lowerBound)) to \(Clock.length(left.upperBound)) are left."
            )
        }
        return lines
    }

    private static func killBanner(_ kill: KillSwitch.State, _ clock: Clock) -> String? {
        guard kill.isPulled else { return nil }
        let since = kill.since.map { " since \(clock.time($0))" } ?? ""
        return
            "The kill switch is pulled\(since): everybody goes back to the old store, and no user is moved until it is re-armed."
    }

    private static func shares(_ fleet: FleetOverview) -> [StageShare] {
        var begin = 0.0
        return fleet.stages.compactMap { stage, users in
            guard users > 0 || stage != nil else { return nil }
            let share = fleet.users > 0 ? Double(users) / Double(fleet.users) : 0
            defer { begin += share * 1_000 }
            let name = stage?.rawValue ?? "not started"
            return StageShare(
                name: name,
                className: stage.map { "stage-\($0.rawValue)" } ?? "stage-none",
                users: FleetOverview.grouped(users),
                percent: Self.percent(share),
                x: Clock.rounded(begin, 2),
                // Wide enough to see if there is any user.
                width: Clock.rounded(users > 0 ? max(3, share * 1_000) : 0, 2),
                meaning: Self.meaning(stage)
            )
        }
    }

    /// Never rounded to 0 or 100 percent.
    static func percent(_ share: Double) -> String {
        switch share {
        case ...0: "0 %"
        case ..<0.001: "< 0.1 %"
        case 1...: "100 %"
        case 0.999...: "> 99.9 %"
        default: "\(Clock.rounded(share * 100, 1)) %"
        }
    }

    private static func meaning(_ stage: Stage?) -> String {
        switch stage {
        case nil: "not yet examined"
        case .off: "old store only"
        case .dualwrite: "new follows"
        case .shadow: "new follows, reads compared"
        case .live: "new serves, reads compared"
        case .rampdown: "new serves, old follows"
        case .complete: "new store only"
        }
    }
}
