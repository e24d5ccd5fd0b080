/// How much of what a schedule asks for was done.
public struct Completion: Hashable, Sendable {
    /// The entries that count towards the schedule.
    public let done: Double
    /// The entries that the schedule asks for; above 0.
    public let asked: Double

    /// 0 for nothing, 1 for everything.
    public var fraction: Double { done / asked }

    /// Whole percent, rounded down, so that 100 means everything.
    public var percent: Int { done >= asked ? 100 : min(99, Int(100 * done / asked)) }
}

extension HabitCalendar {
    /// How much of a schedule was done in the listed days.
    ///
    /// The days are cut into blocks of `periodDays`, counted back from the last day. A block asks for `timesPerPeriod`
    /// entries, the oldest block, where it is shorter, for its share of them; more entries than a block asks for do not
    /// make up for another one. Days before the habit began ask for nothing. With a period of one day, the last day
    /// counts only once it is done, as the day is not over.
    ///
    /// - Parameters:
    ///   - schedule: how often the habit was meant to be done.
    ///   - began: the day since which it is meant to be done, or the first day with an entry if that is earlier; nil
    ///     for before all listed days.
    /// - Returns: nil when no day asks for anything yet.
    public func completion(of schedule: HabitSchedule, since began: LocalDay? = nil) -> Completion? {
        var counts = days[...]
        if let began { counts = counts.drop { $0.day < began && $0.count == 0 } }
        if schedule.periodDays == 1, let last = counts.last, last.count < schedule.timesPerPeriod {
            counts.removeLast()
        }
        guard !counts.isEmpty else { return nil }
        var asked = 0.0
        var done = 0.0
        while !counts.isEmpty {
            let block = counts.suffix(schedule.periodDays)
            counts.removeLast(block.count)
            let share = Double(schedule.timesPerPeriod) * (Double(block.count) / Double(schedule.periodDays))
            asked += share
            done += min(share, Double(block.reduce(0) { $0 + $1.count }))
        }
        return Completion(done: done, asked: asked)
    }
}
