import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

struct HabitSummary {
    let habit: Habit
    let tags: [Tag]
    let entryCount: Int
    let lastEntry: Date?
    let streaks: Streaks

    init(_ habit: Habit, tags: [Tag], entryDates: [Date], _ tracker: Tracker) {
        self.habit = habit
        self.tags = tags
        entryCount = entryDates.count
        lastEntry = entryDates.max()
        streaks = habit.streaks(entryDates, calendar: tracker.calendar, now: tracker.now)
    }

    var json: JSON {
        var members: [String: JSON] = [
            "id": .string(habit.id.uuidString),
            "name": .string(habit.name),
            "category": .optional(habit.category),
            "isArchived": .bool(habit.isArchived),
            "timesPerPeriod": .int(habit.timesPerPeriod),
            "periodDays": .int(habit.periodDays),
            "unit": .optional(habit.unit),
            "target": .optional(habit.target),
            "tags": .array(tags.map(\.name).sorted().map { .string($0) }),
            "tagIDs": .array(habit.tagIDs.map(\.uuidString).sorted().map { .string($0) }),
            "streak": .int(habit.streak),
            "currentStreak": .int(streaks.current),
            "longestStreak": .int(streaks.longest),
            "streakUnitDays": .int(habit.schedule.periodDays),
            "entryCount": .int(entryCount),
        ]
        members.set("createdAt", habit.createdAt)
        members.set("lastEntry", lastEntry)
        return .object(members)
    }
}
