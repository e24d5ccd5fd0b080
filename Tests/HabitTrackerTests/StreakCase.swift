import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

/// A random habit around an odd instant of a zone, and its streaks by the plainest reading of the rules.
struct StreakCase: CustomStringConvertible {
    let zone: String
    let calendar: Calendar
    let schedule: HabitSchedule
    let center: Date
    var now: Date
    var anchor: Date?
    var entries: [Date]

    init(periods: [Int], using generator: inout SeededGenerator) throws {
        let oddity = try #require(TestCalendars.oddities.randomElement(using: &generator))
        zone = oddity.zone
        calendar = try TestCalendars.calendar(oddity.zone)
        center = try TestCalendars.date(oddity.near)
        let periodDays = try #require(periods.randomElement(using: &generator))
        schedule = try HabitSchedule(timesPerPeriod: Int.random(in: 1...4, using: &generator), periodDays: periodDays)
        now = center + TimeInterval(Int.random(in: -5...30, using: &generator) * 43_200)
        if Bool.random(using: &generator) {
            anchor = center + TimeInterval(Int.random(in: -60...60, using: &generator) * 43_200)
        }
        // From nearly nothing to nearly every hour: long streaks and broken ones.
        let count = Int.random(in: 0...(20 * schedule.timesPerPeriod), using: &generator)
        let span = [5, 12, 30].randomElement(using: &generator) ?? 12
        entries = []
        for _ in 0..<count { entries.append(randomDate(days: span, using: &generator)) }
        // The seconds on both sides of the odd instant itself.
        if Bool.random(using: &generator) { entries += [center - 1, center, center - 0.5] }
    }

    func randomDate(days: Int, using generator: inout SeededGenerator) -> Date {
        center + TimeInterval(Int.random(in: -days * 24...days * 24, using: &generator) * 3_600)
            + TimeInterval(Int.random(in: 0..<3_600, using: &generator))
    }

    func compute() -> Streaks {
        Streaks.compute(entryDates: entries, schedule: schedule, calendar: calendar, now: now, anchor: anchor)
    }

    /// Current and longest streak, found by going through every date and every window from before the first entry until today.
    func naive() throws -> (current: Int, longest: Int) {
        let dates = WallDates(from: center - 40 * 86_400, through: center + 40 * 86_400, calendar: calendar)
        let today = try #require(dates.index(of: now))
        var counts = [Int](repeating: 0, count: dates.labels.count)
        for entry in entries {
            let index = try #require(dates.index(of: entry))
            if index <= today { counts[index] += 1 }
        }
        guard let first = counts.firstIndex(where: { $0 > 0 }) else { return (0, 0) }
        var start = try anchor.map { try #require(dates.index(of: $0)) } ?? first
        while start > 0 { start -= schedule.periodDays }
        var run = 0
        var longest = 0
        var current = 0
        while start <= today {
            let window = start..<start + schedule.periodDays
            let days = window.clamped(to: dates.labels.indices)
            let isRunning = window.contains(today)
            // If the list of dates ends within a window, the window has days beyond it.
            let exists = days != window || days.contains { dates.existing.contains(dates.labels[$0]) }
            let isKept = days.reduce(0) { $0 + counts[$1] } >= schedule.timesPerPeriod
            if exists {
                if isKept { run += 1 } else if !isRunning { run = 0 }
            }
            longest = max(longest, run)
            current = run
            start += schedule.periodDays
        }
        return (current, longest)
    }

    var description: String {
        let shown = entries.sorted().map { $0.formatted(.iso8601) }.joined(separator: " ")
        let anchorText = anchor?.formatted(.iso8601) ?? "none"
        return "\(zone), \(schedule), now \(now.formatted(.iso8601)), anchor \(anchorText): \(shown)"
    }
}
