import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// A small store without oddities: ninety days of a user who started this spring.
enum TidyFixture {
    static func make() throws -> FixtureContents {
        var contents = FixtureContents(description: "a small store without any oddity, with its whole history")
        var random = SeededGenerator(seed: 20_260_301)
        let calendar = try Calendars.gregorian("Europe/Berlin")
        let begin = Calendars.date(calendar, 2026, 3, 1, 7, 30)
        contents.tags = ["health", "mind", "home", "work"].map { Tag(id: random.identifier(), name: $0) }
        let plans: [(String, String?, Int, Int, String?, Double?, [Int])] = [
            ("Run", "sport", 3, 7, "km", 5, [0]), ("Read", "mind", 1, 1, "pages", 20, [1]),
            ("Meditate", "mind", 1, 1, "min", 10, [0, 1]), ("Water the plants", "home", 2, 7, nil, nil, [2]),
            ("Call mother", nil, 1, 7, nil, nil, []), ("Café-free day", "health", 5, 7, nil, nil, [0]),
            ("Inbox zero", "work", 5, 7, nil, nil, [3]), ("Piano", nil, 4, 7, "min", 30, [1]),
        ]
        for (name, category, times, period, unit, target, tags) in plans {
            contents.habits.append(
                Habit(
                    id: random.identifier(),
                    name: name,
                    createdAt: begin,
                    streak: random.number(below: 30),
                    category: category,
                    isArchived: name == "Piano",
                    timesPerPeriod: times,
                    periodDays: period,
                    unit: unit,
                    target: target,
                    tagIDs: Set(tags.map { contents.tags[$0].id })
                )
            )
        }
        contents.record(
            at: begin,
            author: "app",
            contents.tags.map { HistoryChange(entity: "Tag", id: $0.id, kind: .insert) }
                + contents.habits.map { HistoryChange(entity: "Habit", id: $0.id, kind: .insert) }
        )
        for day in 0..<90 { try addDay(day, &contents, &random, calendar, begin) }
        for index in 0..<3 {
            let draft = Draft(
                id: random.identifier(),
                content: ["Week in review", "Why I run", "Letter to mother"][index],
                creationDate: begin.addingTimeInterval(Double(index) * 86_400.125),
                attachments: index == 1 ? ["photo.jpg", "route.gpx"] : []
            )
            contents.drafts.append(draft)
            contents.record(
                at: draft.creationDate,
                author: "app",
                [HistoryChange(entity: "Draft", id: draft.id, kind: .insert)]
            )
        }
        return contents
    }

    private static func addDay(
        _ day: Int,
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ calendar: Calendar,
        _ begin: Date
    ) throws {
        let date = calendar.date(byAdding: .day, value: day, to: begin) ?? begin
        var changes: [HistoryChange] = []
        for habit in contents.habits where random.chance(habit.periodDays == 1 ? 85 : 45) {
            let entry = Entry(
                id: random.identifier(),
                date: date.addingTimeInterval(Double(random.number(below: 40_000)) / 4),
                note: random.chance(15) ? random.pick(["a bit late", "felt good", "in the rain", "with Anna"]) : nil,
                value: habit.unit == nil ? nil : Double(random.number(below: 200)) / 4,
                habitID: habit.id
            )
            contents.entries.append(entry)
            changes.append(HistoryChange(entity: "Entry", id: entry.id, kind: .insert))
        }
        if !changes.isEmpty { contents.record(at: date, author: "app", changes) }
    }
}
