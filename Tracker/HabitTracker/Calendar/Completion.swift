/// How much of a schedule was completed.
public struct Completion: Hashable, Sendable {
    /// The entries that count towards the schedule.
    public let done: Double
    /// The entries that the schedule demands; above 0.
    public let asked: Double

    /// From 0 (nothing) to 1 (everything).
    public var fraction: Double { done / asked }

    /// Whole percent, rounded down, so that 100 means everything.
    public var percent: Int { done >= asked ? 100 : min(99, Int(100 * done / asked)) }
}

extension HabitCalendar {
    /// How much of a schedule was completed in the listed days.
    ///
    /// The days are divided into blocks of `periodDays`, counted back from the last day. A block demands `timesPerPeriod` entries, and a
    /// shorter oldest block a proportional share; surplus entries of one block do not count for another. Days before the habit began demand
    /// nothing. With a period of one day, the last day counts only if it is complete, as the day is not over.
    ///
    /// - Parameters:
    ///   - schedule: the schedule of the habit.
    ///   - began: the day when the schedule began, or the first day with an entry if that is earlier; nil if it began before all listed
    ///     days.
    /// - Returns: nil if no day demands anything yet.
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
