import HabitStoreRollout

/// The counts of a tangle sweep.
struct TangleFigures: ScenarioFigures {
    private(set) var kills = 0
    private(set) var violations = 0
    private var scenarios = 0
    private var acknowledged = 0
    private var open = 0
    private var keptOpen = 0
    private(set) var places: [String: Int] = [:]
    private var events: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private var ends: [String: Int] = [:]
    private var skipped: Set<String> = []

    /// Counts a death.
    mutating func died(at point: String) {
        kills += 1
        places[point, default: 0] += 1
    }

    /// Counts the result of a scenario.
    mutating func add(_ run: TangleRun, _ reports: [Report], _ outcome: TangleRecovery.Outcome) {
        scenarios += 1
        events.merge(run.done, uniquingKeysWith: +)
        skipped.formUnion(run.skipped)
        for report in reports {
            acknowledged += report.acknowledged.count
            open += report.open.count
            events.merge(report.done, uniquingKeysWith: +)
            refusals.merge(report.refusals, uniquingKeysWith: +)
        }
        keptOpen += outcome.keptOpen
        for end in outcome.ends { ends[end, default: 0] += 1 }
        violations += outcome.violations.count
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["events:"] + Self.table(events)
        lines += ["users after reopening:"] + Self.table(ends)
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        lines += skipped.sorted().map { "left out: \($0)" }
        lines.append(
            "\(scenarios) scenarios with \(kills) kills in \(Int(seconds)) s, \(acknowledged) writes acknowledged, "
                + "\(open) in flight or unknown, of which \(keptOpen) took effect"
        )
        return lines
    }
}
