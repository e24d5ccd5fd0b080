import HabitStoreRollout

/// The counts of a sweep.
struct SweepFigures: ScenarioFigures {
    private(set) var kills = 0
    var acknowledged = 0
    var open = 0
    var keptOpen = 0
    var moves = 0
    private(set) var places: [String: Int] = [:]
    private var starts: [Stage: Int] = [:]
    private var ends: [Stage: Int] = [:]
    private var ways: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private(set) var violations = 0

    /// Counts a death.
    mutating func died(at point: String) {
        kills += 1
        places[point, default: 0] += 1
    }

    /// Counts the result of a scenario.
    mutating func add(_ scenario: Scenario, _ report: Report, _ outcome: Recovery.Outcome) {
        starts[scenario.start, default: 0] += 1
        if let stage = outcome.stage { ends[stage, default: 0] += 1 }
        ways["\(scenario.start.rawValue) \(scenario.move.rawValue)", default: 0] += 1
        acknowledged += report.acknowledged.count
        open += report.open.count
        keptOpen += outcome.keptOpen
        moves += report.moves
        refusals.merge(report.refusals, uniquingKeysWith: +)
        violations += outcome.violations.count
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["by stage            start      end"]
        lines += Stage.allCases.map { stage in
            "  " + Self.padded(stage.rawValue, 14) + Self.number(starts[stage] ?? 0) + Self.number(ends[stage] ?? 0)
        }
        if isVerbose { lines += ["by move:"] + Self.table(ways) }
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        let each = kills > 0 ? Int(seconds * 1_000) / kills : 0
        lines.append(
            "\(kills) kills in \(Int(seconds)) s, \(each) ms each; \(moves) moves, \(acknowledged) writes acknowledged, "
                + "\(open) in flight or unknown, of which \(keptOpen) took effect"
        )
        return lines
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
