/// The counts of runs that follow users.
struct LiveRolloutFigures: ScenarioFigures {
    private(set) var kills = 0
    private(set) var violations = 0
    private(set) var rounds = 0
    private(set) var places: [String: Int] = [:]
    private var done: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private var writes = 0
    private var closings = 0
    private var told = 0
    private var compared = 0
    private var slowestSeconds = (acknowledged: 0.0, other: 0.0)

    /// Counts a round.
    mutating func add(_ run: LiveRolloutRun) {
        rounds += 1
        done.merge(run.done, uniquingKeysWith: +)
        refusals.merge(run.refusals, uniquingKeysWith: +)
        violations += run.violations.count
        writes += run.writes
        closings += run.closings
        told += run.followers.told
        compared += run.followers.compared
        let slowest = run.followers.slowestSeconds
        slowestSeconds.acknowledged = max(slowestSeconds.acknowledged, slowest.acknowledged)
        slowestSeconds.other = max(slowestSeconds.other, slowest.other)
        kills += run.deaths.values.reduce(0, +)
        places.merge(run.deaths, uniquingKeysWith: +)
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["events:"] + Self.table(done)
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        lines.append(
            "\(rounds) rounds in \(Int(seconds)) s, \(writes) writes, \(told) elements received, \(compared) of them compared "
                + "with a replay of the writes; users closed to make room \(closings) times"
        )
        let (acknowledged, other) = (Int(slowestSeconds.acknowledged * 1_000), Int(slowestSeconds.other * 1_000))
        lines.append(
            "all streams received an acknowledged last write within \(acknowledged) ms, and one whose writer died before it could "
                + "acknowledge it within \(other) ms"
        )
        return lines
    }
}
