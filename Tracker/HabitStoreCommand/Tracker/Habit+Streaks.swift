import Foundation
import HabitStore
import HabitTracker

extension Habit {
    /// The schedule. An older store may contain invalid numbers, which are replaced by the nearest valid ones.
    var schedule: HabitSchedule {
        do {
            return try HabitSchedule(timesPerPeriod: max(1, timesPerPeriod), periodDays: max(1, periodDays))
        } catch {
            return .daily
        }
    }

    /// The streaks of a habit with entries on `dates`.
    func streaks(_ dates: some Sequence<Date>, calendar: Calendar, now: Date) -> Streaks {
        Streaks.compute(entryDates: dates, schedule: schedule, calendar: calendar, now: now, anchor: createdAt)
    }
}

extension WriteTransaction {
    /// Computes a habit's streaks from its current entries, and stores the longest in the habit.
    @discardableResult
    func updateStreak(of habit: Habit, _ tracker: Tracker) throws -> Streaks {
        let dates = try entries(of: habit.id).map(\.date)
        let streaks = habit.streaks(dates, calendar: tracker.calendar, now: tracker.now)
        if habit.streak != streaks.longest {
            var habit = habit
            habit.streak = streaks.longest
            try save(habit)
        }
        return streaks
    }
}
